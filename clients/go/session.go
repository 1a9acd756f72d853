package linkscore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "linkscore.example/go/linkscorev1"
)

const (
	// SessionTimeout bounds a call of a Session unless it is told otherwise: a fetch waits for it.
	SessionTimeout = 5 * time.Second

	closeWithin  = 30 * time.Second // how long the end may take; chosen, as the others
	mostRefusals = 20               // that are logged, each once

	// Waits between two probes of a server that is away: one that was restarted is noticed within seconds. A probe that
	// takes longer than probeTimeout has failed: a server so slow is of no use to a crawl.
	firstProbe   = time.Second
	longestProbe = 5 * time.Second
	probeTimeout = time.Second

	// What waits for a server that is away is bounded in bytes, since a page may have 8 MiB; a call whose answer took too
	// long so often is given up. Both chosen.
	maxOwed  = 64 << 20
	maxTries = 3
)

// Stats counts what became of a crawl's pages and links.
type Stats struct {
	// Pages were taken by the server, Failed fetches and Rewards as well; late ones included.
	Pages, Failed, Rewards atomic.Int64
	// Scored links had a score when they were found, Missed ones were not on the page as the server read it, and
	// Fallback ones were found while the server was away. Of these Guessed ones wait among links of their shape, and
	// Late ones were scored afterwards.
	Scored, Missed, Fallback, Guessed, Late atomic.Int64
	// Skipped links were dropped when they were found, as a setting of the crawl says: copies, traps, what is reserved.
	Skipped atomic.Int64
}

// String is the counts on one line, for a log.
func (s *Stats) String() string {
	return fmt.Sprintf("pages=%d failed=%d rewards=%d scored=%d missed=%d fallback=%d guessed=%d late=%d skipped=%d",
		s.Pages.Load(), s.Failed.Load(), s.Rewards.Load(), s.Scored.Load(), s.Missed.Load(), s.Fallback.Load(),
		s.Guessed.Load(), s.Late.Load(), s.Skipped.Load())
}

// Session is a crawl as an adapter uses it. It sends what is fetched, keeps it while the server is away, and sends it when
// it is back. Its URLs wait in memory, and Next gives the best first: seeds, then one first-in-first-out queue a bucket, then
// what the server does not know. While it is away links go on by the rule of outages (docs/reference/clients.md). No method
// waits for a server that is known to be away, and none fails. Safe for concurrent use.
type Session struct {
	Stats Stats

	set    SessionOptions
	crawl  *Crawl
	ctx    context.Context // of what is sent beside the crawl
	cancel context.CancelFunc
	after  func(time.Duration) <-chan time.Time

	greeted atomic.Bool
	turn    sync.Mutex // of those who ask what comes next: each knows what those before it took
	sending sync.Mutex // held by the one who asks whether the server is back, and sends
	mu      sync.Mutex // of what follows; not held while Key or Logger run, which may ask the session
	order   *frontier
	allowed allowance
	refused map[string]bool // what calls were refused with, as far as the log says so
	away    bool
	began   time.Time // of the outage
	owed    []owed
	bytes   int // of what is owed
	dropped int // calls that fell out, or were given up
}

// owed is a call that tells the server something, and how often its answer took too long.
type owed struct {
	call  func(context.Context) error
	bytes int
	tries int
}

// SessionOptions set up a Session; the zero value will do.
type SessionOptions struct {
	// Crawl is what the crawl is made with, or gets: policy, wanted, budget, respect; nil leaves all to the server.
	Crawl *pb.Crawl
	// Examples of the pages wanted: URL, or URL=FILE with the HTML.
	Examples []string
	// Timeout bounds each call, 5 s if 0.
	Timeout time.Duration
	// Required makes a server that is away at the start an error.
	Required bool
	// Key writes a URL of the server as the crawler's URLs are written; as it is if nil.
	Key func(url string) string
	// Logger gets the lines of start, end and outages; slog's default if nil.
	Logger *slog.Logger
}

// NewSession ensures a crawl. A server that is away is an error only if it is required; a configuration it refuses is one.
func NewSession(client *Client, id string, set SessionOptions) (*Session, error) {
	set.Timeout = cmp.Or(set.Timeout, SessionTimeout)
	set.Logger = cmp.Or(set.Logger, slog.Default())
	if set.Key == nil {
		set.Key = func(url string) string { return url }
	}
	if err := checkTimeout(set.Timeout); err != nil {
		return nil, err
	}
	s := &Session{
		set: set, crawl: client.Crawl(id), after: time.After, refused: map[string]bool{},
		order: newFrontier(), allowed: newAllowance(set.Crawl.GetBudget()),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	err := s.attempt(s.ctx, s.ensure)
	if err != nil && (set.Required || isRefusal(err)) {
		s.cancel()
		return nil, err
	}
	s.note(err, owed{})
	return s, nil
}

func (s *Session) locked(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// Page sends a page; its scored links, or false if the server is away: then the page is kept and sent later.
func (s *Session) Page(ctx context.Context, page Page) ([]Link, bool) {
	page.EventID = cmp.Or(page.EventID, rand.Text()) // one, however often it is sent
	count := &s.Stats.Pages
	if page.failed() {
		count = &s.Stats.Failed
	}
	key := s.set.Key(page.URL)
	s.locked(func() {
		s.order.fetched(key, page.failed())
		s.allowed.unknown++
	})
	var sent []Link
	send := func(ctx context.Context) error {
		results, err := s.crawl.Ingest(ctx, page)
		if err == nil {
			err = itemError(results[0].Message.GetStatus())
		}
		if err == nil {
			sent = results[0].Links
			s.locked(func() { s.allowed.take(results[0].Message) })
			count.Add(1)
		}
		return err
	}
	late := func(ctx context.Context) error {
		err := s.attempt(ctx, send)
		links := ByURL(sent, s.set.Key)
		s.locked(func() {
			for url, found := range links {
				if s.order.rescore(url, found) {
					s.Stats.Late.Add(1)
				}
			}
		})
		return err
	}
	if !s.call(ctx, send, owed{bytes: proto.Size(page.message()), call: late}) {
		return nil, false
	}
	return sent, true
}

// AddSeed lets a URL wait ahead of every scored one.
func (s *Session) AddSeed(url string, value any) {
	s.locked(func() { s.order.addOnce(s.order.seeds, url, value) })
}

// AddUnknown lets a URL that the server said nothing about wait behind every scored one.
func (s *Session) AddUnknown(url string, value any) {
	s.locked(func() { s.order.add(s.order.unknown, url, value) })
}

// Found lets a link of a page wait: with what Page answered for it, none if the server did not see it there, or if the page
// had no answer where links like it were found last, until the page is answered. One that the answer drops does not wait.
func (s *Session) Found(url string, found []Link, answered bool, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(found) > 0 && found[0].Dropped():
		s.Stats.Skipped.Add(1)
	case len(found) > 0:
		s.Stats.Scored.Add(1)
		s.order.found(url, found, value)
	case answered:
		s.Stats.Missed.Add(1)
		s.order.addOnce(s.order.unknown, url, value)
	default:
		s.Stats.Fallback.Add(1)
		if s.order.addUnscored(url, value) {
			s.Stats.Guessed.Add(1)
		}
	}
}

// Len counts the URLs that wait.
func (s *Session) Len() (n int) {
	s.locked(func() { n = len(s.order.waiting) })
	return n
}

// Next takes the URL to fetch now; call Done when it is answered. It is nil if none waits, or if none should be fetched before
// the next answer: then some URL that was taken is not done.
func (s *Session) Next(ctx context.Context) (item *Item) {
	s.turn.Lock()
	defer s.turn.Unlock()
	var asked *pb.RankBucketsRequest
	s.locked(func() { asked = s.order.question() })
	if asked != nil { // without the lock: links may be added meanwhile
		var values map[string]float64
		var urls map[string]int
		answered := s.call(ctx, func(ctx context.Context) (err error) {
			values, urls, err = s.crawl.RankBuckets(ctx, asked)
			return err
		}, owed{})
		s.locked(func() { s.order.heed(values, urls, answered) })
	}
	s.locked(func() { item = s.order.take() })
	return item
}

// Done notes that what became of a URL that was taken is known to the server, or never will be.
func (s *Session) Done(item *Item) { s.locked(func() { s.order.done(item) }) }

// Full says whether the budget lets no fetch begin beside those under way. If it says so of none the crawl has ended.
func (s *Session) Full(underWay int) (is bool) {
	s.locked(func() { is = s.allowed.full(underWay, s.order.seeds.waiting > 0) })
	return is
}

// Stopped says why the crawl ends by its budget, "linkscore_budget" for example, and in a sentence; empty while it goes on.
func (s *Session) Stopped() (reason, why string) {
	s.locked(func() { reason, why = s.allowed.reason, s.allowed.why })
	return reason, why
}

// Failed reports a fetch that brought no page, now or when the server is back.
func (s *Session) Failed(ctx context.Context, url string, status int, reason string, ticket []byte) {
	s.Page(ctx, failure(url, status, reason, ticket))
}

// Reward says what a page was worth, now or when the server is back.
func (s *Session) Reward(ctx context.Context, url string, ticket []byte, worth float64) {
	event := feedback(url, ticket, worth)
	send := func(ctx context.Context) error {
		err := s.crawl.reward(ctx, event)
		if err == nil {
			s.Stats.Rewards.Add(1)
		}
		return err
	}
	s.call(ctx, send, owed{bytes: proto.Size(event), call: func(ctx context.Context) error { return s.attempt(ctx, send) }})
}

// Close sends what still waits if the server is there, for half a minute at most, and says how the crawl went.
func (s *Session) Close() {
	defer time.AfterFunc(closeWithin, s.cancel).Stop()
	_ = s.tryAgain()
	s.cancel()
	var left int
	s.locked(func() { left = len(s.owed) + s.dropped })
	s.set.Logger.Info("linkscore: the crawl ends", "crawl", s.crawl.Name, "counts", s.Stats.String(), "not_sent", left)
}

// call makes a call unless the server is away; what it was to tell is told later, if it met an outage.
func (s *Session) call(ctx context.Context, call func(context.Context) error, later owed) bool {
	if s.keep(later) {
		return false
	}
	err := s.attempt(ctx, call)
	if err != nil && ctx.Err() != nil { // who called gave up, which says nothing of the server: it is told beside the crawl
		s.locked(func() { s.hold(later) })
		go s.tryAgain()
		return false
	}
	s.note(err, later)
	return err == nil
}

// attempt makes a call with its deadline; a crawl that the server does not know is made, and the call repeated.
func (s *Session) attempt(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.set.Timeout)
	defer cancel()
	err := call(ctx)
	if CodeOf(err) == codes.NotFound { // the server was away at the start, or lost its crawl
		if err = s.ensure(ctx); err == nil {
			err = call(ctx)
		}
	}
	return err
}

// note heeds how a call ended. Of one that was refused or answered oddly it says so, of each reason once: the crawl goes on.
func (s *Session) note(err error, later owed) {
	if isOutage(err) {
		s.met(err, later)
		return
	}
	if err == nil {
		return
	}
	var first bool
	s.locked(func() {
		if first = !s.refused[err.Error()] && len(s.refused) < mostRefusals; first {
			s.refused[err.Error()] = true
		}
	})
	if first {
		s.set.Logger.Error("linkscore: a call failed, the crawl goes on", "error", err)
	}
}

func (s *Session) ensure(ctx context.Context) error {
	examples, err := readExamples(s.set.Examples)
	if err != nil {
		return err
	}
	config := &pb.Crawl{Examples: examples}
	proto.Merge(config, s.set.Crawl)
	client := s.crawl.client
	if _, err = client.EnsureCrawl(ctx, s.crawl.Name, config); err != nil {
		return err
	}
	if s.greeted.Swap(true) {
		return nil
	}
	there, _ := client.Crawls.GetCrawl(ctx, &pb.GetCrawlRequest{Name: s.crawl.Name}) // for the log alone
	policy, name := there.GetCrawl().GetPolicy().ProtoReflect(), ""
	if is := policy.WhichOneof(policy.Descriptor().Oneofs().ByName("policy")); is != nil {
		name = string(is.Name())
	}
	s.set.Logger.Info("linkscore orders this crawl", "server", client.Conn.Target(), "version", there.GetServerVersion(),
		"crawl", s.crawl.Name, "policy", name, "pages_of_earlier_runs", there.GetCrawl().GetPageCount())
	return nil
}

// keep lets a call wait if the server is away; says whether it is.
func (s *Session) keep(call owed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		s.hold(call)
	}
	return s.away
}

func (s *Session) hold(call owed) {
	if call.call == nil {
		return
	}
	s.owed, s.bytes = append(s.owed, call), s.bytes+call.bytes
	for s.bytes > maxOwed {
		s.bytes -= s.owed[0].bytes
		s.owed = s.owed[1:]
		s.dropped++
	}
}

// met notes that a call met an outage.
func (s *Session) met(err error, call owed) {
	var lost bool
	s.locked(func() {
		if lost = !s.away; lost {
			s.away, s.began = true, time.Now()
			s.order.setAway(true)
		}
		s.hold(call)
	})
	if lost {
		s.set.Logger.Warn("linkscore does not answer: links go on by what links like them were last worth", "error", err)
		go s.watch(err)
	}
}

func (s *Session) watch(err error) {
	for wait := firstProbe; err != nil; wait = min(2*wait, longestProbe) {
		var said *Error
		if errors.As(err, &said) {
			wait = max(wait, min(said.RetryAfter, longestProbe))
		}
		select {
		case <-s.after(wait):
			err = s.tryAgain()
		case <-s.ctx.Done():
			return
		}
	}
}

// tryAgain tells the server everything that waits, if it is not away or back again; an error if it is not.
func (s *Session) tryAgain() error {
	s.sending.Lock()
	defer s.sending.Unlock()
	if s.keep(owed{}) {
		if err := s.returned(); err != nil {
			return err
		}
	}
	for more := true; more && !s.keep(owed{}) && s.ctx.Err() == nil; {
		var err error
		if more, err = s.tellOldest(); err != nil {
			s.met(err, owed{})
		}
	}
	return nil
}

// returned ends an outage if the server is back and takes the oldest call; an error if it is not.
func (s *Session) returned() error {
	cheap, cancel := context.WithTimeout(s.ctx, probeTimeout)
	defer cancel()
	if _, err := s.crawl.client.Crawls.GetCrawl(cheap, &pb.GetCrawlRequest{Name: s.crawl.Name}); isOutage(err) {
		return err
	}
	if _, err := s.tellOldest(); err != nil {
		return err
	}
	var after time.Duration
	var calls int
	s.locked(func() {
		s.away = false
		s.order.setAway(false)
		after, calls = time.Since(s.began).Round(time.Second), len(s.owed)
	})
	s.set.Logger.Info("linkscore answers again: what waits is sent now", "after", after, "calls", calls)
	return nil
}

// tellOldest makes the oldest call, if there is one; its error is an outage that it met. A refusal is an answer.
func (s *Session) tellOldest() (waited bool, err error) {
	var oldest owed
	s.locked(func() {
		if waited = len(s.owed) > 0; waited {
			oldest, s.owed = s.owed[0], s.owed[1:]
			s.bytes -= oldest.bytes
		}
	})
	if !waited {
		return false, nil
	}
	err = oldest.call(s.ctx)
	if !isOutage(err) && s.ctx.Err() == nil {
		s.note(err, owed{})
		return true, nil
	}
	if CodeOf(err) == codes.DeadlineExceeded {
		oldest.tries++
	}
	s.locked(func() {
		if oldest.tries >= maxTries {
			s.dropped++
		} else {
			s.owed, s.bytes = slices.Insert(s.owed, 0, oldest), s.bytes+oldest.bytes
		}
	})
	return true, err
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
	var ours *Error
	outages := []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted}
	return errors.As(err, &ours) && slices.Contains(outages, ours.Code) && ours.Reason != "LIMIT_EXCEEDED"
}
