package linkscore

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
)

// reportEvery is how often a session logs how the crawl goes; closeWithin bounds how long its end takes. Both chosen.
const (
	reportEvery = time.Minute
	closeWithin = 30 * time.Second
	maxSaid     = 20 // distinct refusals in the log, a bound
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

// Session is a crawl as an adapter uses it: it sends what is fetched, keeps it while the server is away, and sends it when
// it is back. No method waits for a server that is known to be away, and none fails. Safe for concurrent use.
type Session struct {
	Stats    Stats
	Frontier *Frontier

	crawl    *Crawl
	policy   *PolicySpec
	budget   *Budget
	examples []string
	allowed  *allowance
	breaker  *Breaker
	backlog  backlog
	timeout  time.Duration
	key      func(url string) string
	log      *slog.Logger

	ctx      context.Context // of what is sent beside the crawl
	cancel   context.CancelFunc
	catching sync.Mutex // held by the one who sends what waits
	mu       sync.Mutex
	began    time.Time           // of the outage, if there is one
	told     time.Time           // when the log last said how it goes
	said     map[string]struct{} // refusals that the log has
}

// SessionOptions set up a Session; the zero value will do.
type SessionOptions struct {
	// Policy chooses the policy; the server's default if nil.
	Policy *PolicySpec
	// Examples of the pages wanted: URL, or URL=FILE with the HTML.
	Examples []string
	// Budget bounds the crawl; the one it has, or none, if nil.
	Budget *Budget
	// RankEvery asks for the order of the buckets before every n-th fetch, 1 if less.
	RankEvery int
	// Timeout bounds each call, 5 s if 0.
	Timeout time.Duration
	// Required makes a server that is away at the start an error.
	Required bool
	// Key writes a URL of the server as the frontier's URLs are written; as it is if nil.
	Key func(url string) string
	// Logger gets the lines of start, end and outages and one a minute; slog's default if nil.
	Logger *slog.Logger
}

// SessionTimeout bounds a call of a Session unless it is told otherwise: a fetch waits for it.
const SessionTimeout = 5 * time.Second

// NewSession ensures a crawl. A server that is away is an error only if it is required; a configuration it refuses is one.
func NewSession(client *Client, id string, set SessionOptions) (*Session, error) {
	s := &Session{
		crawl: client.Crawl(id), policy: set.Policy, timeout: set.Timeout, key: set.Key, log: set.Logger, told: time.Now(),
		budget: set.Budget, examples: set.Examples, allowed: newAllowance(set.Budget), said: map[string]struct{}{},
	}
	if s.timeout <= 0 {
		s.timeout = SessionTimeout
	}
	if s.key == nil {
		s.key = func(url string) string { return url }
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.breaker = NewBreaker(s.probe)
	s.breaker.turns, s.breaker.refused = s.turned, s.refused
	s.Frontier = NewFrontier(s.crawl, set.RankEvery, s.breaker)
	err := s.call(context.Background(), s.ensure)
	if err != nil && (set.Required || !isOutage(err)) {
		s.breaker.Close()
		s.cancel()
		return nil, err
	}
	return s, nil
}

// Page sends a page; its scored links, or false if the server is away: then the page is kept and sent later.
func (s *Session) Page(ctx context.Context, page Page) ([]Link, bool) {
	defer s.report()
	if page.EventID == "" {
		page.EventID = eventID() // before the first attempt: a repeated one is applied once
	}
	s.Frontier.answered(s.key(page.URL), page.failed())
	var err error
	if s.breaker.Allows() {
		var results []Result
		err = s.call(ctx, func(ctx context.Context) (err error) {
			results, err = s.crawl.Ingest(ctx, page)
			return err
		})
		if err == nil {
			s.count(page)
			s.allowed.take(results[0].Message)
			if s.Frontier.countUnscored() > 0 {
				go s.catchUp(s.catching.TryLock())
			}
			return results[0].Links, true
		}
	}
	if err == nil || isOutage(err) {
		s.backlog.add(page)
	}
	return nil, false
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
func (s *Session) Full(underWay int) bool {
	waiting, dropped := s.backlog.size()
	return s.allowed.full(underWay, waiting+dropped, s.Frontier.hasSeeds())
}

// Stopped says why the crawl ends by its budget, "linkscore_budget" for example, and in a sentence; empty while it goes on.
func (s *Session) Stopped() (reason, why string) { return s.allowed.stopped() }

// Failed reports a fetch that brought no page, now or when the server is back.
func (s *Session) Failed(ctx context.Context, url string, status int, reason string, ticket []byte) {
	if status == 0 && reason == "" {
		reason = "unknown"
	}
	s.Page(ctx, Page{URL: url, StatusCode: status, FetchError: reason, Ticket: ticket})
}

// Reward says what a page was worth, now or when the server is back.
func (s *Session) Reward(ctx context.Context, url string, ticket []byte, worth float64) {
	said := reward{url, ticket, worth, eventID()}
	var err error
	if s.breaker.Allows() {
		if err = s.call(ctx, func(ctx context.Context) error { return s.crawl.report(ctx, said) }); err == nil {
			s.Stats.Rewards.Add(1)
			return
		}
	}
	if err == nil || isOutage(err) {
		s.backlog.addReward(said)
	}
}

// Close sends what still waits if the server is there, for half a minute at most, and says how the crawl went.
func (s *Session) Close() {
	defer time.AfterFunc(closeWithin, s.cancel).Stop()
	s.breaker.Try()
	s.catching.Lock()
	s.catchUp(true)
	s.breaker.Close()
	s.cancel()
	pages, dropped := s.backlog.size()
	found := s.Stats.Scored.Load() + s.Stats.Missed.Load() + s.Stats.Fallback.Load()
	s.log.Info("linkscore: the crawl ends", "crawl", s.crawl.Name, "links", found,
		"scored", s.Stats.Scored.Load()+s.Stats.Late.Load(), "pages", s.Stats.Pages.Load(), "pages_not_sent", pages+dropped)
}

// call makes a call with its deadline; a crawl that the server does not know is made, and the call repeated.
func (s *Session) call(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	err := call(ctx)
	if CodeOf(err) == codes.NotFound { // the server was away at the start, or lost its crawl
		if err = s.ensure(ctx); err == nil {
			err = call(ctx)
		}
	}
	s.breaker.Done(err)
	return err
}

// refused says, once for each message, that a call was refused or answered oddly: the crawl goes on without.
func (s *Session) refused(err error) {
	if CodeOf(err) == codes.Canceled {
		return
	}
	s.mu.Lock()
	_, known := s.said[err.Error()]
	if !known && len(s.said) < maxSaid {
		s.said[err.Error()] = struct{}{}
	}
	s.mu.Unlock()
	if !known {
		s.log.Error("linkscore: a call failed, the crawl goes on", "error", err)
	}
}

func (s *Session) ensure(ctx context.Context) error {
	examples, err := ReadExamples(s.examples...)
	if err != nil {
		return err
	}
	crawl, err := s.crawl.client.EnsureCrawl(ctx, s.crawl.Name, s.policy, WithBudget(s.budget), WithExamples(examples...))
	if err == nil {
		version, _ := s.crawl.ServerVersion(ctx) // for the log alone
		s.log.Info("linkscore orders this crawl", "server", s.crawl.client.conn.Target(), "version", version, "crawl", crawl.Name,
			"policy", policyName(crawl.Config.GetPolicy()))
	}
	return err
}

// probe asks whether the server is back: a cheap call, and one of what waits, since a server may answer and yet take
// nothing in (its disk is full, or it has too much work).
func (s *Session) probe(ctx context.Context) error {
	cheap, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err := s.crawl.ping(cheap); isOutage(err) {
		return err
	}
	_, err := s.sendSome(ctx)
	return err
}

// turned notes the beginning of an outage, or its end: then what waits is sent, beside the crawl.
func (s *Session) turned(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pages, _ := s.backlog.size()
	if err == nil {
		s.log.Info("linkscore answers again: what waits is sent now",
			"after", time.Since(s.began).Round(time.Second), "pages", pages, "links", s.Frontier.countUnscored())
		go s.catchUp(s.catching.TryLock())
		return
	}
	s.began = time.Now()
	why := "linkscore does not answer"
	if isDiskFull(err) {
		why = "linkscore: the server's disk is full"
	}
	s.log.Warn(why+": links go on by what links like them were last worth", "error", err)
}

// catchUp sends what waits in slices, the oldest first, until nothing does or the server is away again. Mine says that
// the caller took catching; without it somebody else is at it.
func (s *Session) catchUp(mine bool) {
	if !mine {
		return
	}
	defer s.catching.Unlock()
	for s.breaker.Allows() && s.ctx.Err() == nil {
		if sent, _ := s.sendSome(s.ctx); sent {
			continue
		}
		links := s.Frontier.someUnscored(sliceLinks)
		if len(links) == 0 {
			return
		}
		s.score(s.ctx, links)
	}
}

// sendSome sends the oldest page that waits, or some of the feedback; false if nothing waits.
func (s *Session) sendSome(ctx context.Context) (bool, error) {
	if page, waits := s.backlog.take(); waits {
		return true, s.send(ctx, page)
	}
	if rewards := s.backlog.takeRewards(sliceRewards); len(rewards) > 0 {
		return true, s.sendRewards(ctx, rewards)
	}
	return false, nil
}

// send sends a page that waited; its links that wait without a score get it.
func (s *Session) send(ctx context.Context, page kept) error {
	var results []Result
	err := s.call(ctx, func(ctx context.Context) (err error) {
		results, err = s.crawl.Ingest(ctx, page.Page)
		return err
	})
	if isOutage(err) || CodeOf(err) == codes.Canceled {
		s.backlog.putBack(page, CodeOf(err) == codes.DeadlineExceeded)
		return err
	}
	for _, result := range results {
		s.count(page.Page)
		s.allowed.take(result.Message)
		s.rescored(result.Links)
	}
	return err
}

func (s *Session) sendRewards(ctx context.Context, rewards []reward) error {
	err := s.call(ctx, func(ctx context.Context) error { return s.crawl.report(ctx, rewards...) })
	if isOutage(err) {
		s.backlog.putRewardsBack(rewards)
	} else if err == nil {
		s.Stats.Rewards.Add(int64(len(rewards)))
	}
	return err
}

// score asks for the scores of links whose pages will not be sent.
func (s *Session) score(ctx context.Context, urls []string) {
	links := make([]Candidate, len(urls))
	for i, url := range urls {
		links[i].URL = url
	}
	var scored []Link
	err := s.call(ctx, func(ctx context.Context) (err error) {
		scored, err = s.crawl.Score(ctx, links...)
		return err
	})
	if isOutage(err) {
		return
	}
	s.rescored(scored)
	s.Frontier.settle(urls)
}

// rescored gives links of an answer that wait without a score their own.
func (s *Session) rescored(links []Link) {
	for _, found := range ByURL(links, s.key) {
		if s.Frontier.rescore(found) {
			s.Stats.Late.Add(1)
		}
	}
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

func (s *Session) count(page Page) {
	if page.failed() {
		s.Stats.Failed.Add(1)
	} else {
		s.Stats.Pages.Add(1)
	}
}

// report logs how the crawl goes, once a minute.
func (s *Session) report() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.told) < reportEvery {
		return
	}
	s.told = time.Now()
	bucket, value := s.Frontier.bestBucket()
	s.log.Info("linkscore: so far", "scored", s.Stats.Scored.Load()+s.Stats.Late.Load(),
		"fallback", s.Stats.Fallback.Load(), "best_bucket", bucket, "value", value)
}
