package linkscore

import "time"

// ProbeWhen lets a test say when a session probes.
func (s *Session) ProbeWhen(after func(time.Duration) <-chan time.Time) { s.after = after }

// Allows says whether a session takes the server for present.
func (s *Session) Allows() bool { return !s.keep(owed{}) }

// CaughtUp returns when nobody sends what waited.
func (s *Session) CaughtUp() {
	s.sending.Lock()
	defer s.sending.Unlock()
}
