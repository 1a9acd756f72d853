package linkscore

import (
	"sync"
	"time"
)

// turned has the sessions of tests whose server was lost; false once one has noted that it is back.
var turned sync.Map

// ProbeWhen lets a test say when a session probes.
func (s *Session) ProbeWhen(after func(time.Duration) <-chan time.Time) {
	s.breaker.after = after
	turns := s.breaker.turns
	s.breaker.turns = func(err error) {
		turns(err)
		turned.Store(s, err != nil)
	}
}

// BreakerWhen is a breaker whose probes a test times, and that says when it turns.
func BreakerWhen(b *Breaker, after func(time.Duration) <-chan time.Time, turns func(error)) *Breaker {
	b.after, b.turns = after, turns
	return b
}

// Allows says whether a session takes the server for present and, if it was away, already sends what waited: the breaker
// lets calls through a moment before the session hears of it.
func (s *Session) Allows() bool {
	away, _ := turned.Load(s)
	return s.breaker.Allows() && away != true
}

// CaughtUp returns when nobody sends what waited.
func (s *Session) CaughtUp() {
	s.catching.Lock()
	defer s.catching.Unlock()
}

// Shapes are those that a URL is remembered by.
var Shapes = shapes

// MaxShapes bounds how many are.
const MaxShapes = maxShapes
