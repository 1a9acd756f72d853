package linkscore

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
)

// Waits between two probes of a server that is away: a dead server costs nothing then, and one that was restarted is
// noticed within seconds. A probe that takes longer than probeTimeout has failed: a server so slow is of no use to a crawl.
const (
	firstProbe   = time.Second
	longestProbe = 5 * time.Second
	probeTimeout = time.Second
)

// Breaker keeps a server that is away from costing a deadline for every page: after an outage (no server, no answer in
// time, too much load, a full disk) it lets no call through. Beside the crawl it probes with one cheap call every 1 to
// 5 s, and lets all calls through once that is answered. Safe for concurrent use.
type Breaker struct {
	probe   func(context.Context) error
	after   func(time.Duration) <-chan time.Time
	turns   func(err error) // called when the server was lost, with why, and when it is back, with nil
	refused func(err error) // called when a call failed of a server that is there

	mu     sync.Mutex
	away   bool
	ctx    context.Context
	cancel context.CancelFunc
}

// NewBreaker returns a breaker that probes by a call; any answer ends the outage, a refusal too. Close it when the crawl
// is over.
func NewBreaker(probe func(context.Context) error) *Breaker {
	ctx, cancel := context.WithCancel(context.Background())
	return &Breaker{probe: probe, after: time.After, turns: func(error) {}, refused: func(error) {}, ctx: ctx, cancel: cancel}
}

// Allows says whether a call may be made now. The caller says how it ended by Done.
func (b *Breaker) Allows() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.away
}

// Done notes how a call ended. Only an outage opens the breaker, and only a probe closes it.
func (b *Breaker) Done(err error) {
	if !isOutage(err) {
		if err != nil {
			b.refused(err)
		}
		return
	}
	b.mu.Lock()
	lost := !b.away
	b.away = true
	b.mu.Unlock()
	if lost {
		b.turns(err)
		go b.watch(err)
	}
}

// Try probes at once if the server is away; false if it still is.
func (b *Breaker) Try() bool { return b.Allows() || b.heard(b.probe(b.ctx)) }

// Close ends the probing.
func (b *Breaker) Close() { b.cancel() }

func (b *Breaker) watch(err error) {
	for wait := firstProbe; ; wait = min(2*wait, longestProbe) {
		select {
		case <-b.after(max(wait, retryAfter(err))):
		case <-b.ctx.Done():
			return
		}
		if err = b.probe(b.ctx); b.heard(err) {
			return
		}
	}
}

// heard notes how a probe ended; true if the server is there.
func (b *Breaker) heard(err error) bool {
	if isOutage(err) || b.ctx.Err() != nil {
		return false
	}
	b.mu.Lock()
	back := b.away
	b.away = false
	b.mu.Unlock()
	if back {
		b.turns(nil)
	}
	return true
}

// isOutage says whether the next call would fail too. One beyond a limit is refused for itself.
func isOutage(err error) bool {
	switch CodeOf(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		return true
	case codes.ResourceExhausted:
		return !errors.Is(err, &Error{Code: codes.ResourceExhausted, Reason: "LIMIT_EXCEEDED"})
	}
	return false
}

// isDiskFull says whether a server refuses to take anything in, and answers all else.
func isDiskFull(err error) bool {
	return errors.Is(err, &Error{Code: codes.ResourceExhausted, Reason: "DISK_FULL"})
}

// retryAfter is what a server says itself about when to come back.
func retryAfter(err error) time.Duration {
	var said *Error
	if !errors.As(err, &said) {
		return 0
	}
	return min(said.RetryAfter, longestProbe)
}
