package linkscore

import "time"

// ProbeWhen lets a test say when a session probes.
func (s *Session) ProbeWhen(after func(time.Duration) <-chan time.Time) { s.outage.after = after }

// Allows says whether a session takes the server for present.
func (s *Session) Allows() bool { return !s.outage.isAway() }

// CaughtUp returns when nobody sends what waited.
func (s *Session) CaughtUp() {
	s.outage.sending.Lock()
	defer s.outage.sending.Unlock()
}
