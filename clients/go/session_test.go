package linkscore_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	linkscore "linkscore.example/go"
	pb "linkscore.example/go/linkscorev1"
)

// away is not repeated by the client, as UNAVAILABLE would be.
var away = status.Error(codes.DeadlineExceeded, "away")

var everything = []string{"IngestPages", "RankBuckets", "ReportFeedback", "GetCrawl"}

// clock lets a test say when a session probes, and notes how long it would have waited.
type clock struct {
	mu    sync.Mutex
	waits []time.Duration
	tick  chan time.Time
	asked chan struct{}
}

func newClock() *clock { return &clock{tick: make(chan time.Time), asked: make(chan struct{}, 100)} }

func (c *clock) after(wait time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = append(c.waits, wait)
	c.asked <- struct{}{}
	return c.tick
}

// probe lets one probe happen, and returns when the next is waited for or the session is back.
func (c *clock) probe(back func() bool) {
	<-c.asked
	c.tick <- time.Time{}
	for !back() && len(c.asked) == 0 {
		time.Sleep(time.Millisecond) // the loop waits for either of two events
	}
}

// lines keeps what is logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

func session(t *testing.T, f *fake) (*linkscore.Session, *clock, *lines) {
	t.Helper()
	said, timer := &lines{}, newClock()
	s, err := linkscore.NewSession(serve(t, f), "x", linkscore.SessionOptions{Logger: slog.New(slog.NewTextHandler(said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	s.ProbeWhen(timer.after)
	t.Cleanup(s.Close)
	return s, timer, said
}

func page(n int) linkscore.Page {
	return linkscore.Page{URL: fmt.Sprintf("http://a.test/page/%d", n), Body: []byte("<a>")}
}

func TestPagesAndRewardsOfAnOutageAreSentWhenTheServerIsBackOldestFirst(t *testing.T) {
	f := &fake{}
	s, timer, said := session(t, f)
	f.refuses(away, everything...)
	for n := range 20 {
		if _, answered := s.Page(t.Context(), page(n)); answered {
			t.Fatal("nobody answers")
		}
		s.Reward(t.Context(), page(n).URL, nil, 1)
	}
	f.refuses(nil)
	timer.probe(s.Allows)
	s.CaughtUp()
	var sent []string
	for _, call := range f.ingested {
		if len(call.GetPages()) != 1 {
			t.Fatalf("%d pages in one call", len(call.GetPages()))
		}
		for _, p := range call.GetPages() {
			sent = append(sent, p.GetUrl())
		}
	}
	if len(sent) != 20 || sent[0] != page(0).URL || sent[19] != page(19).URL {
		t.Fatal(sent)
	}
	if len(f.rewards) != 20 || s.Stats.Pages.Load() != 20 || s.Stats.Rewards.Load() != 20 {
		t.Fatalf("%d rewards, %+v", len(f.rewards), &s.Stats)
	}
	if said.count("does not answer") != 1 || said.count("answers again") != 1 {
		t.Fatal(said.text.String())
	}
}

func TestNoCallIsMadeWhileTheServerIsAwayButProbes(t *testing.T) {
	f := &fake{}
	s, timer, said := session(t, f)
	f.refuses(away, everything...)
	s.Page(t.Context(), page(0))
	s.Found("http://a.test/1", nil, false, nil)
	before := f.callCount()
	for n := range 50 {
		s.Page(t.Context(), page(n))
		s.Next(t.Context())
	}
	if f.callCount() != before {
		t.Fatal("pages were sent to a server that is away")
	}
	for range 5 {
		timer.probe(s.Allows)
	}
	if f.callCount() != before+5 {
		t.Fatal("a probe is one call")
	}
	<-timer.asked
	seconds := []time.Duration{1, 2, 4, 5, 5, 5}
	for i := range seconds {
		seconds[i] *= time.Second
	}
	if !slices.Equal(timer.waits, seconds) || said.count("level=WARN") != 1 {
		t.Fatal(timer.waits, said.text.String())
	}
}

func TestAFullDiskIsAnOutageUntilAPageIsTakenIn(t *testing.T) {
	f := &fake{}
	s, timer, said := session(t, f)
	full, err := status.New(codes.ResourceExhausted, "the server's disk is full").WithDetails(&errdetails.ErrorInfo{Reason: "DISK_FULL"})
	if err != nil {
		t.Fatal(err)
	}
	f.refuses(full.Err(), "IngestPages", "ReportFeedback")
	s.Page(t.Context(), page(0))
	for range 3 {
		timer.probe(s.Allows)
	}
	if s.Allows() {
		t.Fatal("its other answers must not steer")
	}
	f.refuses(nil)
	timer.probe(s.Allows)
	s.CaughtUp()
	if s.Stats.Pages.Load() != 1 || said.count("answers again") != 1 {
		t.Fatal(said.text.String())
	}
}

func TestAnOddAnswerLeavesTheCrawlInItsOwnOrderWithOneLine(t *testing.T) {
	for _, code := range []codes.Code{codes.OK, codes.Canceled, codes.NotFound} {
		f := &fake{spoil: func(r *pb.IngestPagesResponse) { r.Results[0].Links.Scores[0] = math.NaN() }} // others: the scenario odd_answers
		s, _, said := session(t, f)
		f.refuses(status.Error(code, "odd"), "IngestPages")
		for n := range 2 {
			if _, answered := s.Page(t.Context(), page(n)); answered {
				t.Fatal("answered")
			}
			s.Found("http://a.test/own", nil, false, nil)
		}
		if item := s.Next(t.Context()); item == nil || said.count("the crawl goes on") != 1 || said.count("orders this") != 1 || !s.Allows() {
			t.Fatal(item, said.text.String())
		}
	}
}

func TestALinkThatWaitsIsFetchedOnceThoughTheServerDoesNotKnowIt(t *testing.T) {
	s, _, _ := session(t, &fake{})
	for range 2 {
		s.AddSeed("http://a.test/", nil)
		s.Found("http://a.test/1", nil, true, nil)
	}
	first, second := s.Next(t.Context()), s.Next(t.Context())
	if first.URL != "http://a.test/" || second.URL != "http://a.test/1" || s.Next(t.Context()) != nil || s.Len() != 0 {
		t.Fatal(first, second, s.Len())
	}
}

func TestAPageThatTheServerRefusesIsSaidInOneLine(t *testing.T) {
	f := &fake{spoil: func(r *pb.IngestPagesResponse) {
		problem := &pb.FieldProblem{Field: "body", Description: "must be smaller"}
		r.Results[0].Status = &pb.ItemStatus{Code: pb.ItemCode_ITEM_CODE_INVALID, Problems: []*pb.FieldProblem{problem}}
	}}
	s, _, said := session(t, f)
	for n := range 2 {
		if _, answered := s.Page(t.Context(), page(n)); answered || s.Stats.Pages.Load() > 0 {
			t.Fatal("answered")
		}
	}
	if said.count("body: must be smaller") != 1 {
		t.Fatal(said.text.String())
	}
}

func TestARefusedSettingEndsTheStart(t *testing.T) {
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		f, ends := &fake{}, code
		f.refuses(status.Error(code, "told to refuse"), "CreateCrawl")
		switch code {
		case codes.Internal, codes.Unknown, codes.Canceled, codes.DataLoss, codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted,
			codes.AlreadyExists:
			ends = codes.OK // it goes on: no other configuration mends that, or the crawl is there
		}
		client := serve(t, f)
		quiet := linkscore.SessionOptions{Logger: slog.New(slog.DiscardHandler)}
		if _, err := linkscore.NewSession(client, "c", quiet); linkscore.CodeOf(err) != ends {
			t.Fatal(code, err)
		}
	}
}

func TestLinksFoundMeanwhileGetTheirScoresFromTheirPage(t *testing.T) {
	f := &fake{values: map[string]float64{"high": .9, "low": .1}}
	s, timer, _ := session(t, f)
	f.refuses(away, everything...)
	s.Page(t.Context(), page(0)) // the fake's answer names /1 and /2
	for _, url := range []string{"http://a.test/1", "http://a.test/2", "http://a.test/3"} {
		s.Found(url, nil, false, nil)
	}
	f.refuses(nil)
	timer.probe(s.Allows)
	s.CaughtUp()
	var order, tickets []string
	for item := s.Next(t.Context()); item != nil; item = s.Next(t.Context()) {
		order, tickets = append(order, item.URL[len(item.URL)-1:]), append(tickets, string(item.Ticket))
	}
	if strings.Join(order, "") != "213" || strings.Join(tickets, "") != "t1t0" || s.Stats.Late.Load() != 2 {
		t.Fatal(order, tickets, s.Stats.Late.Load())
	}
}

func TestWhatWaitsIsBoundedInBytesAndTheOldestFallsOut(t *testing.T) {
	f := &fake{}
	s, timer, _ := session(t, f)
	f.refuses(away, everything...)
	big := make([]byte, 8<<20)
	for n := range 12 {
		p := page(n)
		p.Body = big
		s.Page(t.Context(), p)
	}
	f.refuses(nil)
	timer.probe(s.Allows)
	s.CaughtUp()
	if len(f.ingested) != 7 || f.ingested[0].GetPages()[0].GetUrl() != page(5).URL {
		t.Fatalf("%d pages, the first %s", len(f.ingested), f.ingested[0].GetPages()[0].GetUrl())
	}
}

func TestTheEndOfACrawlSendsWhatWaitsIfTheServerIsThere(t *testing.T) {
	f := &fake{}
	s, _, said := session(t, f)
	f.refuses(away, everything...)
	for n := range 3 {
		s.Page(t.Context(), page(n))
	}
	f.refuses(nil)
	s.Close()
	if len(f.ingested) != 3 || said.count("pages=3") != 1 || said.count("not_sent=0") != 1 {
		t.Fatal(said.text.String())
	}
}

func TestAPageThatAlwaysTakesTooLongIsGivenUp(t *testing.T) {
	f := &fake{}
	s, timer, _ := session(t, f)
	f.refuses(away, "IngestPages")
	s.Page(t.Context(), page(0))
	for !s.Allows() {
		timer.probe(s.Allows)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	sent := slices.DeleteFunc(f.calls, func(method string) bool { return method != "IngestPages" })
	if len(sent) != 3+1 { // a probe may be late too
		t.Fatal(f.calls)
	}
}

func TestAServerThatIsAwayAtTheStartIsAnErrorOnlyIfItIsRequired(t *testing.T) {
	client, err := linkscore.New("127.0.0.1:1", linkscore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	quiet := linkscore.SessionOptions{Logger: slog.New(slog.DiscardHandler)}
	s, err := linkscore.NewSession(client, "x", quiet)
	if err != nil || s.Allows() {
		t.Fatal(err)
	}
	s.Close()
	quiet.Required = true
	if _, err := linkscore.NewSession(client, "x", quiet); linkscore.CodeOf(err) != codes.Unavailable {
		t.Fatal(err)
	}
}

func order(t *testing.T, s *linkscore.Session, most int) string {
	t.Helper()
	var taken []string
	for range most {
		item := s.Next(t.Context())
		if item == nil {
			break
		}
		taken = append(taken, item.URL[strings.LastIndex(item.URL, "/")+1:])
		s.Done(item)
	}
	return strings.Join(taken, " ")
}

func TestALinkFoundMeanwhileWaitsBehindThoseOfItsShape(t *testing.T) {
	f := &fake{values: map[string]float64{"a": .9, "b": .5}}
	s, _, _ := session(t, f)
	for _, found := range []linkscore.Link{link("http://a.test/a/1", "a", .9), link("http://a.test/b/1", "b", .5)} {
		s.Found(found.URL, []linkscore.Link{found}, true, nil)
	}
	f.refuses(away, everything...)
	s.Page(t.Context(), page(0))
	for _, path := range []string{"c", "b/2", "a/2"} {
		s.Found("http://a.test/"+path, nil, false, nil)
	}
	if s.Stats.Guessed.Load() != 2 {
		t.Fatal("one is of no known shape")
	}
	s.Found("http://a.test/a/3", []linkscore.Link{link("http://a.test/a/3", "a", .9)}, true, nil)
	if got := order(t, s, 9); got != "1 3 2 1 2 c" {
		t.Fatal(got)
	}
}

func TestAWrongTargetTimeoutOrTokenIsAnErrorThatSaysWhatToGive(t *testing.T) {
	for _, token := range []string{"secret\n", "sécret"} {
		if _, err := linkscore.New("localhost:1", linkscore.Options{Token: token}); err == nil || !strings.Contains(err.Error(), "token must be") {
			t.Fatal(token, err)
		}
	}
	if _, err := linkscore.New("localhost:1", linkscore.Options{Timeout: -3}); err == nil || !strings.Contains(err.Error(), "above 0") {
		t.Fatal(err)
	}
	for target, hint := range map[string]string{
		"": "host:port", "http://shop:7411": "without a scheme", "shop": "localhost:7411", ":7411": "host:port",
		"shop:port": "host:port", "shop:74110": "host:port", "shop:7411/path": "host:port", "sh op:7411": "host:port",
	} {
		if _, err := linkscore.New(target, linkscore.Options{}); err == nil || !strings.Contains(err.Error(), hint) {
			t.Fatal(target, err)
		}
	}
	for _, target := range []string{"localhost:7411", "[::1]:7411", "dns:///shop:7411", "unix:/run/linkscore"} {
		client, err := linkscore.New(target, linkscore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_ = client.Close()
	}
}

func TestALinkThatASettingForbidsDoesNotWait(t *testing.T) {
	f := &fake{}
	s, _, _ := session(t, f)
	answer := &pb.LinkScores{
		Scores: make([]float64, 7), Buckets: make([]uint32, 7), BucketNames: []string{"b"}, BucketValues: []float64{1},
		Urls: []string{"/0", "/1", "/2", "/3", "/4", "/5", "/6"},
		SkipReasons: []pb.SkipReason{
			pb.SkipReason_SKIP_REASON_UNSPECIFIED, pb.SkipReason_SKIP_REASON_CRAWL_BUDGET, pb.SkipReason_SKIP_REASON_SITE_STOPPED,
			pb.SkipReason_SKIP_REASON_TRAP, pb.SkipReason_SKIP_REASON_RESPECT, pb.SkipReason_SKIP_REASON_COPY,
			99, // of a server to come
		},
	}
	for _, link := range linkscore.Rows(answer) {
		s.Found(link.URL, []linkscore.Link{link}, true, nil)
	}
	if s.Len() != 4 || s.Stats.Skipped.Load() != 3 || s.Stats.Scored.Load() != 4 {
		t.Fatalf("%d wait, %d skipped, %d scored", s.Len(), s.Stats.Skipped.Load(), s.Stats.Scored.Load())
	}
}

func TestTheLogSaysOfEachReasonOnceWhyCallsAreRefused(t *testing.T) {
	f := &fake{}
	s, _, said := session(t, f)
	for range 2 {
		for reason := range 25 {
			f.refuses(status.Error(codes.InvalidArgument, fmt.Sprintf("reason %d.", reason)), "IngestPages")
			s.Page(t.Context(), page(0))
		}
	}
	if said.count("reason 0.") != 1 || said.count("a call failed") != 20 {
		t.Fatal(said.text.String())
	}
}

// curious asks the session whenever it logs something.
type curious struct {
	slog.Handler
	session *linkscore.Session
}

func (c *curious) Handle(context.Context, slog.Record) error {
	if c.session != nil {
		c.session.Len()
	}
	return nil
}

func TestALoggerAndAKeyMayAskTheSession(t *testing.T) {
	f, logger, timer := &fake{}, &curious{Handler: slog.DiscardHandler}, newClock()
	key := func(url string) string { logger.session.Len(); return url }
	s, err := linkscore.NewSession(serve(t, f), "x", linkscore.SessionOptions{Logger: slog.New(logger), Key: key})
	if err != nil {
		t.Fatal(err)
	}
	logger.session = s
	s.ProbeWhen(timer.after)
	f.refuses(status.Error(codes.InvalidArgument, "wrong"), "IngestPages")
	s.Page(t.Context(), page(0))
	f.refuses(away, everything...)
	s.Page(t.Context(), page(1))
	f.refuses(nil)
	timer.probe(s.Allows)
	s.CaughtUp()
	s.Close()
	if s.Stats.Pages.Load() != 1 {
		t.Fatal(&s.Stats)
	}
}

func TestWhatWaitsIsBoundedInBytesWithItsLinks(t *testing.T) {
	f := &fake{}
	s, timer, _ := session(t, f)
	f.refuses(away, everything...)
	for n := range 20 { // of 4 MiB each
		linked := page(n)
		linked.Outlinks = []linkscore.Outlink{{URL: "http://a.test/", Anchor: strings.Repeat("x", 4<<20)}}
		s.Page(t.Context(), linked)
	}
	f.refuses(nil)
	timer.probe(s.Allows)
	s.CaughtUp()
	if s.Stats.Pages.Load() != 15 || f.ingested[0].GetPages()[0].GetUrl() != page(5).URL {
		t.Fatal(&s.Stats)
	}
}

func TestWhoGivesUpLosesNoPageAndDoesNotTakeTheServerForAway(t *testing.T) {
	f := &fake{}
	s, _, said := session(t, f)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	for n, ctx := range []context.Context{gone, late} {
		if _, answered := s.Page(ctx, page(n)); answered {
			t.Fatal("nobody waited for an answer")
		}
		s.Reward(ctx, page(n).URL, nil, 1)
		s.Next(ctx)
	}
	if !s.Allows() {
		t.Fatal("the server is there")
	}
	s.Close()
	if s.Stats.Pages.Load() != 2 || s.Stats.Rewards.Load() != 2 || said.count("not_sent=0") != 1 {
		t.Fatal(said.text.String())
	}
}

func TestTheStartNamesThePolicy(t *testing.T) {
	said := &lines{}
	config := &pb.Crawl{Policy: linkscore.Policy("harvest")}
	s, err := linkscore.NewSession(serve(t, &fake{}), "x",
		linkscore.SessionOptions{Crawl: config, Logger: slog.New(slog.NewTextHandler(said, nil))})
	if err != nil || said.count("policy=harvest ") != 1 {
		t.Fatal(err, said.text.String())
	}
	s.Close()
}
