package linkscore

import (
	"context"
	"errors"
	"slices"
	"strings"
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

// What waits for a server that is away is bounded in bytes, since a page may have 8 MiB; a call whose answer took too long
// so often is given up. Both chosen.
const (
	maxOwed  = 64 << 20
	maxTries = 3
)

// owed is a call that tells the server something, and how often its answer took too long.
type owed struct {
	call  func(context.Context) error
	bytes int
	tries int
}

// outage keeps a server that is away from costing a deadline for every page: after a call that met one none is made. Beside
// the crawl it is asked whether it is back, and what waits is sent, oldest first: the rule of outages (docs/reference/clients.md).
type outage struct {
	probe   func(context.Context) error
	turned  func(err error, waiting int) // the server was lost, with why, or is back, with nil
	refused func(error)
	after   func(time.Duration) <-chan time.Time

	ctx     context.Context // of what is sent beside the crawl
	cancel  context.CancelFunc
	sending sync.Mutex // held by the one who asks and sends
	mu      sync.Mutex
	away    bool
	owed    []owed
	bytes   int
	dropped int // calls that fell out, or were given up
}

func (o *outage) isAway() bool { return o.keep(owed{}) }

// keep lets a call wait if the server is away; says whether it is.
func (o *outage) keep(call owed) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away && call.call != nil {
		o.owed, o.bytes = append(o.owed, call), o.bytes+call.bytes
		for o.bytes > maxOwed {
			o.bytes -= o.owed[0].bytes
			o.owed = o.owed[1:]
			o.dropped++
		}
	}
	return o.away
}

// met notes that a call met an outage.
func (o *outage) met(err error, call owed) {
	o.mu.Lock()
	lost := !o.away
	o.away = true
	o.mu.Unlock()
	o.keep(call)
	if lost {
		o.turned(err, o.waiting())
		go o.watch(err)
	}
}

func (o *outage) watch(err error) {
	for wait := firstProbe; err != nil; wait = min(2*wait, longestProbe) {
		var said *Error
		if errors.As(err, &said) {
			wait = max(wait, min(said.RetryAfter, longestProbe))
		}
		select {
		case <-o.after(wait):
			err = o.tryAgain()
		case <-o.ctx.Done():
			return
		}
	}
}

// tryAgain asks whether the server is back, and tells it everything then; an error if it is not.
func (o *outage) tryAgain() error {
	o.sending.Lock()
	defer o.sending.Unlock()
	if !o.isAway() {
		return nil
	}
	cheap, cancel := context.WithTimeout(o.ctx, probeTimeout)
	defer cancel()
	if err := o.probe(cheap); isOutage(err) {
		return err
	}
	if err := o.tellOldest(); err != nil {
		return err
	}
	o.mu.Lock()
	o.away = false
	o.mu.Unlock()
	o.turned(nil, o.waiting())
	for o.waiting() > 0 && !o.isAway() && o.ctx.Err() == nil {
		if err := o.tellOldest(); err != nil {
			o.met(err, owed{})
		}
	}
	return nil
}

// tellOldest makes the oldest call; its error is an outage that it met. A refusal is an answer, after which it is over.
func (o *outage) tellOldest() error {
	o.mu.Lock()
	if len(o.owed) == 0 {
		o.mu.Unlock()
		return nil
	}
	oldest := o.owed[0]
	o.owed, o.bytes = o.owed[1:], o.bytes-oldest.bytes
	o.mu.Unlock()
	err := oldest.call(o.ctx)
	if !isOutage(err) && CodeOf(err) != codes.Canceled {
		o.refused(err)
		return nil
	}
	if CodeOf(err) == codes.DeadlineExceeded {
		oldest.tries++
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if oldest.tries >= maxTries {
		o.dropped++
	} else {
		o.owed, o.bytes = append([]owed{oldest}, o.owed...), o.bytes+oldest.bytes
	}
	return err
}

// waiting says how many calls wait.
func (o *outage) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.owed)
}

// close asks once more, and sends what waits if the server is there; it returns how many calls never reached it.
func (o *outage) close(within time.Duration) int {
	defer time.AfterFunc(within, o.cancel).Stop()
	_ = o.tryAgain()
	o.cancel()
	return o.waiting() + o.dropped
}

// isRefusal says whether only another configuration mends an error: such a crawl does not begin.
func isRefusal(err error) bool {
	var ours *Error
	faults := []codes.Code{codes.Internal, codes.Unknown, codes.Canceled, codes.DataLoss}
	passes := errors.As(err, &ours) && (slices.Contains(faults, ours.Code) || isOutage(err))
	return err != nil && (!passes || strings.Contains(err.Error(), "handshake failed: tls: "))
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
