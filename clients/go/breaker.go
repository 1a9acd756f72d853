package linkscore

import (
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
)

// Waits of a Breaker: long enough that a dead server costs a crawl nothing, short enough that one that was
// restarted is noticed.
const (
	firstWait   = time.Second
	longestWait = time.Minute
)

// Breaker keeps a dead server from costing a deadline for every page: after an outage it lets no call through
// for a while, then one, and all again once that one is answered. The wait doubles with every outage in a row.
type Breaker struct {
	mu        sync.Mutex
	wait      time.Duration
	openUntil time.Time
	probing   bool
}

// Allows says whether a call may be made now. A caller that is let through says how it ended by Done.
func (b *Breaker) Allows() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wait == 0 {
		return true
	}
	if b.probing || time.Now().Before(b.openUntil) {
		return false
	}
	b.probing = true
	return true
}

// Done notes how a call ended. Only an outage opens the breaker: no server, no answer in time, or too much load.
func (b *Breaker) Done(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch CodeOf(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted:
		if b.probing || b.wait == 0 {
			b.wait = min(longestWait, max(firstWait, 2*b.wait))
			var said *Error
			if errors.As(err, &said) {
				b.wait = max(b.wait, said.RetryAfter)
			}
			b.openUntil = time.Now().Add(b.wait)
		}
	case codes.Canceled: // says nothing about the server
	default:
		b.wait = 0
	}
	b.probing = false
}

// Broken says whether the last answer was an outage.
func (b *Breaker) Broken() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wait > 0
}
