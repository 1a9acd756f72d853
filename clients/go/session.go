package linkscore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "linkscore.example/go/linkscorev1"
)

const (
	reportEvery  = time.Minute      // how often the log says how the crawl goes; chosen, as the others
	closeWithin  = 30 * time.Second // how long the end may take
	mostRefusals = 20               // that are logged, each once
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

// Session is a crawl as an adapter uses it: it sends what is fetched, keeps it while the server is away, and sends it when
// it is back. No method waits for a server that is known to be away, and none fails. Safe for concurrent use.
type Session struct {
	Stats    Stats
	Frontier *Frontier

	set     SessionOptions
	crawl   *Crawl
	allowed *allowance
	outage  *outage

	mu      sync.Mutex
	refused map[string]bool // what calls were refused with, as far as the log says so
	began   time.Time       // of the outage, if there is one
	told    time.Time       // when the log last said how it goes
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
	// Key writes a URL of the server as the frontier's URLs are written; as it is if nil.
	Key func(url string) string
	// Logger gets the lines of start, end and outages and one a minute; slog's default if nil.
	Logger *slog.Logger
}

var errAway = errors.New("linkscore: the server is away")

// SessionTimeout bounds a call of a Session unless it is told otherwise: a fetch waits for it.
const SessionTimeout = 5 * time.Second

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
		set: set, crawl: client.Crawl(id), allowed: newAllowance(set.Crawl.GetBudget()), Frontier: newFrontier(),
		told: time.Now(), refused: map[string]bool{},
	}
	s.outage = &outage{probe: s.probe, turned: s.turned, refused: func(err error) { s.note(err, owed{}) }, after: time.After}
	s.outage.ctx, s.outage.cancel = context.WithCancel(context.Background())
	s.Frontier.plan = s.plan
	err := s.attempt(context.Background(), s.ensure)
	if err != nil && (set.Required || isRefusal(err)) {
		s.outage.cancel()
		return nil, err
	}
	s.note(err, owed{})
	return s, nil
}

// Page sends a page; its scored links, or false if the server is away: then the page is kept and sent later.
func (s *Session) Page(ctx context.Context, page Page) ([]Link, bool) {
	defer s.report()
	message := page.message() // of one event id, however often it is sent
	s.Frontier.noted(func(o *outlook) { o.fetched(s.set.Key(page.URL), page.failed()) })
	s.allowed.begin()
	count := &s.Stats.Pages
	if page.failed() {
		count = &s.Stats.Failed
	}
	var sent []Link
	send := func(ctx context.Context) error {
		results, err := s.crawl.ingest(ctx, message)
		if err == nil {
			err = itemError(results[0].Message.GetStatus())
		}
		if err == nil {
			sent = results[0].Links
			s.allowed.take(results[0].Message)
			count.Add(1)
		}
		return err
	}
	late := func(ctx context.Context) error {
		err := s.attempt(ctx, send)
		for _, found := range ByURL(sent, s.set.Key) {
			if s.Frontier.rescore(found) {
				s.Stats.Late.Add(1)
			}
		}
		return err
	}
	if !s.call(ctx, send, owed{bytes: proto.Size(message), call: late}) {
		return nil, false
	}
	return sent, true
}

// Found lets a link of a page wait: with what Page answered for it, none if the server did not see it there, or unscored
// if the page had no answer. One that the answer drops does not wait.
func (s *Session) Found(url string, found []Link, answered bool, value any) {
	switch {
	case len(found) > 0 && found[0].Dropped():
		s.Stats.Skipped.Add(1)
	case len(found) > 0:
		s.Stats.Scored.Add(1)
		s.Frontier.AddFound(found, value)
	case answered:
		s.Stats.Missed.Add(1)
		s.Frontier.AddUnknown(url, value)
	default:
		s.Stats.Fallback.Add(1)
		if s.Frontier.AddUnscored(url, value) {
			s.Stats.Guessed.Add(1)
		}
	}
}

// Full says whether the budget lets no fetch begin beside those under way. If it says so of none the crawl has ended.
func (s *Session) Full(underWay int) bool { return s.allowed.full(underWay, s.Frontier.hasSeeds()) }

// Stopped says why the crawl ends by its budget, "linkscore_budget" for example, and in a sentence; empty while it goes on.
func (s *Session) Stopped() (reason, why string) { return s.allowed.stopped() }

// Failed reports a fetch that brought no page, now or when the server is back.
func (s *Session) Failed(ctx context.Context, url string, status int, reason string, ticket []byte) {
	s.Page(ctx, failure(url, status, reason, ticket))
}

// Reward says what a page was worth, now or when the server is back.
func (s *Session) Reward(ctx context.Context, url string, ticket []byte, worth float64) {
	event := feedback(url, ticket, worth)
	send := func(ctx context.Context) error {
		err := s.crawl.report(ctx, event)
		if err == nil {
			s.Stats.Rewards.Add(1)
		}
		return err
	}
	s.call(ctx, send, owed{bytes: proto.Size(event), call: func(ctx context.Context) error { return s.attempt(ctx, send) }})
}

// Close sends what still waits if the server is there, for half a minute at most, and says how the crawl went.
func (s *Session) Close() {
	left := s.outage.close(closeWithin)
	s.set.Logger.Info("linkscore: the crawl ends", "crawl", s.crawl.Name, "counts", s.Stats.String(), "not_sent", left)
}

// call makes a call unless the server is away; what it was to tell is told later, if it met an outage.
func (s *Session) call(ctx context.Context, call func(context.Context) error, later owed) bool {
	if s.outage.keep(later) {
		return false
	}
	err := s.attempt(ctx, call)
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

// note says, of each reason once, that a call was refused or answered oddly: the crawl goes on without.
func (s *Session) note(err error, later owed) {
	if isOutage(err) {
		s.outage.met(err, later)
		return
	}
	if err == nil || CodeOf(err) == codes.Canceled {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.refused[err.Error()] && len(s.refused) < mostRefusals {
		s.refused[err.Error()] = true
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
	there, _ := client.Crawls.GetCrawl(ctx, &pb.GetCrawlRequest{Name: s.crawl.Name}) // for the log alone
	s.set.Logger.Info("linkscore orders this crawl", "server", client.Conn.Target(), "version", there.GetServerVersion(),
		"crawl", s.crawl.Name, "policy", policyName(there.GetCrawl().GetPolicy()),
		"pages_of_earlier_runs", there.GetCrawl().GetPageCount())
	return nil
}

func (s *Session) probe(ctx context.Context) error {
	_, err := s.crawl.client.Crawls.GetCrawl(ctx, &pb.GetCrawlRequest{Name: s.crawl.Name})
	return err
}

func (s *Session) turned(err error, waiting int) {
	s.Frontier.noted(func(o *outlook) { o.setAway(err != nil) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.set.Logger.Info("linkscore answers again: what waits is sent now",
			"after", time.Since(s.began).Round(time.Second), "calls", waiting)
		return
	}
	s.began = time.Now()
	s.set.Logger.Warn("linkscore does not answer: links go on by what links like them were last worth", "error", err)
}

func (s *Session) plan(ctx context.Context, asked *pb.RankBucketsRequest) (values map[string]float64, urls map[string]int, err error) {
	err = errAway
	s.call(ctx, func(ctx context.Context) error {
		values, urls, err = s.crawl.PlanBuckets(ctx, asked)
		return err
	}, owed{})
	return values, urls, err
}

// ByURL groups the links of an answer that can be used by their URL, which key writes as a crawler does.
func ByURL(links []Link, key func(url string) string) map[string][]Link {
	found := map[string][]Link{}
	for _, link := range links {
		if link.Usable() && link.URL != "" {
			link.URL = key(link.URL)
			found[link.URL] = append(found[link.URL], link)
		}
	}
	return found
}

func (s *Session) report() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.told) < reportEvery {
		return
	}
	s.told = time.Now()
	bucket, value := s.Frontier.bestBucket()
	s.set.Logger.Info("linkscore: so far", "counts", s.Stats.String(), "best_bucket", fmt.Sprintf("%s (%.2f)", bucket, value))
}
