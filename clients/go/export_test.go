package linkscore

import "time"

// ProbeWhen lets a test say when a session probes.
func (s *Session) ProbeWhen(after func(time.Duration) <-chan time.Time) { s.breaker.after = after }

// BreakerWhen is a breaker whose probes a test times, and that says when it turns.
func BreakerWhen(b *Breaker, after func(time.Duration) <-chan time.Time, turns func(error)) *Breaker {
	b.after, b.turns = after, turns
	return b
}

// Allows says whether a session takes the server for present.
func (s *Session) Allows() bool { return s.breaker.Allows() }

// CaughtUp returns when nobody sends what waited.
func (s *Session) CaughtUp() {
	s.catching.Lock()
	defer s.catching.Unlock()
}

// Shapes are those that a URL is remembered by.
var Shapes = shapes

// MaxShapes bounds how many are.
const MaxShapes = maxShapes
