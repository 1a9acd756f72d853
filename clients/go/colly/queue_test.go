package colly_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	linkscolly "linkscore.example/go/colly"
	pb "linkscore.example/go/linkscorev1"
)

// fake scores links to /good best, each kind of link a bucket.
type fake struct {
	pb.UnimplementedLinkScoringServiceServer
	pb.UnimplementedCrawlServiceServer

	mu      sync.Mutex
	pages   []*pb.Page
	rewards []*pb.Feedback
	away    bool
	most    uint64    // fetches of the budget of the crawl, if it has one
	taken   sync.Cond // when a page is taken in
}

func (f *fake) set(away bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away = away
}

// waitFor returns when so many pages were taken in.
func (f *fake) waitFor(pages int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.pages) < pages {
		f.taken.Wait()
	}
}

func (f *fake) CreateCrawl(_ context.Context, r *pb.CreateCrawlRequest) (*pb.CreateCrawlResponse, error) {
	return &pb.CreateCrawlResponse{Crawl: r.GetCrawl()}, nil
}

func (f *fake) IngestPages(_ context.Context, r *pb.IngestPagesRequest) (*pb.IngestPagesResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return nil, status.Error(codes.DeadlineExceeded, "away")
	}
	f.taken.Broadcast()
	page := r.GetPages()[0]
	f.pages = append(f.pages, page)
	links := &pb.LinkScores{BucketNames: []string{"bad", "good"}, BucketValues: []float64{.1, .9}, TicketValues: [][]byte{[]byte("tb"), []byte("tg")}}
	for _, part := range strings.Split(string(page.GetBody()), `href="`)[1:] {
		path := part[:strings.Index(part, `"`)]
		kind := uint32(0)
		if strings.HasPrefix(path, "/good") {
			kind = 1
		}
		links.Urls = append(links.Urls, root(page.GetUrl())+path)
		links.Scores = append(links.Scores, .1+.8*float64(kind))
		links.Buckets, links.Tickets = append(links.Buckets, kind), append(links.Tickets, kind)
	}
	return &pb.IngestPagesResponse{Results: []*pb.PageResult{{Links: links, Standing: f.standing(), EventSeq: uint64(len(f.pages))}}}, nil
}

// standing is that of a crawl with a budget; nil without one.
func (f *fake) standing() *pb.Standing {
	if f.most == 0 {
		return nil
	}
	left := max(f.most, uint64(len(f.pages))) - uint64(len(f.pages))
	said := &pb.Standing{Decision: pb.Decision_DECISION_CONTINUE, FetchesLeft: &left}
	if left == 0 {
		said.Decision, said.Spent, said.Reason = pb.Decision_DECISION_STOP_BUDGET, true, "all spent"
	}
	return said
}

func (f *fake) RankBuckets(_ context.Context, r *pb.RankBucketsRequest) (*pb.RankBucketsResponse, error) {
	answer := &pb.RankBucketsResponse{}
	for i, name := range r.GetBuckets() {
		answer.Order = append(answer.Order, uint32(i))
		answer.Values = append(answer.Values, map[string]float64{"good": .9, "bad": .1}[name])
		answer.Urls = append(answer.Urls, 0)
		if name == "good" || len(r.GetBuckets()) == 1 {
			answer.Urls[i] = r.GetN()
		}
	}
	return answer, nil
}

func (f *fake) ReportFeedback(_ context.Context, r *pb.ReportFeedbackRequest) (*pb.ReportFeedbackResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rewards = append(f.rewards, r.GetFeedback()...)
	return &pb.ReportFeedbackResponse{Statuses: []*pb.ItemStatus{{Code: pb.ItemCode_ITEM_CODE_OK}}}, nil
}

func root(url string) string { return url[:strings.Index(url[8:], "/")+8] }

// site has a start page with 10 bad links, 10 good ones and one that is gone.
func site(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	page := func(w http.ResponseWriter, body string) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, body)
	}
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		var body strings.Builder
		for i := range 10 {
			fmt.Fprintf(&body, `<a href="/bad/%d">b</a><a href="/good/%d">g</a>`, i, i)
		}
		page(w, body.String()+`<a href="/good/gone">x</a>`)
	})
	mux.HandleFunc("/bad/", func(w http.ResponseWriter, _ *http.Request) { page(w, `<a href="/good/1#top">again</a>`) })
	mux.HandleFunc("/good/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "gone") {
			http.NotFound(w, r)
			return
		}
		page(w, "good")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func serve(t *testing.T, f *fake) (string, *grpc.Server) {
	t.Helper()
	f.taken.L = &f.mu
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterLinkScoringServiceServer(server, f)
	pb.RegisterCrawlServiceServer(server, f)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String(), server
}

// crawl runs a crawl to its end and returns the paths in the order they came.
func crawl(t *testing.T, target, start string, threads int, each func(*linkscolly.Queue, *colly.HTMLElement), options ...func(*linkscolly.Options)) ([]string, *linkscolly.Queue) {
	t.Helper()
	c := colly.NewCollector()
	q, err := linkscolly.NewQueue(threads, c, target, append(options, func(o *linkscolly.Options) { o.Session.Timeout = 2 * time.Second })...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	var mu sync.Mutex
	var paths []string
	c.OnResponse(func(r *colly.Response) {
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, r.Request.URL.Path)
	})
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { q.Add(e.Request, e.Attr("href")) })
	if each != nil {
		c.OnHTML("html", func(e *colly.HTMLElement) { each(q, e) })
	}
	if err := q.AddURL(start); err != nil {
		t.Fatal(err)
	}
	if err := q.Run(); err != nil {
		t.Fatal(err)
	}
	return paths, q
}

func TestGoodLinksComeFirstTicketsGoBackAndFailuresAreReported(t *testing.T) {
	f := &fake{}
	target, _ := serve(t, f)
	paths, q := crawl(t, target, site(t).URL+"/", 1, nil)
	if len(paths) != 21 {
		t.Fatalf("%d pages: %v", len(paths), paths)
	}
	for _, path := range paths[1:11] {
		if !strings.HasPrefix(path, "/good") {
			t.Fatalf("order: %v", paths)
		}
	}
	if q.Stats.Pages.Load() != 21 || q.Stats.Failed.Load() != 1 || q.Stats.Missed.Load()+q.Stats.Fallback.Load() != 0 {
		t.Fatalf("stats: %+v", &q.Stats)
	}
	for _, page := range f.pages[1:] {
		if want := map[bool]string{true: "tg", false: "tb"}[strings.Contains(page.GetUrl(), "/good")]; string(page.GetTicket()) != want {
			t.Fatalf("%s came with ticket %q", page.GetUrl(), page.GetTicket())
		}
		if strings.HasSuffix(page.GetUrl(), "gone") && page.GetStatusCode() != 404 {
			t.Fatalf("a lost page was sent as %d", page.GetStatusCode())
		}
	}
}

func TestABudgetEndsTheCrawlAtItsLastFetch(t *testing.T) {
	for _, threads := range []int{1, 8} {
		f := &fake{most: 7}
		target, _ := serve(t, f)
		most := uint64(7)
		_, q := crawl(t, target, site(t).URL+"/", threads, nil, func(o *linkscolly.Options) { o.Session.Crawl = &pb.Crawl{Budget: &pb.Budget{MaxFetches: &most}} })
		if reason, why := q.Stopped(); reason != "linkscore_budget" || why != "all spent" || len(f.pages) != 7 {
			t.Fatalf("%d threads: %d pages, %q, %q", threads, len(f.pages), reason, why)
		}
	}
}

func TestABudgetHoldsWithoutAServerToo(t *testing.T) {
	f := &fake{most: 7}
	target, _ := serve(t, f)
	most := uint64(7)
	paths, q := crawl(t, target, site(t).URL+"/", 3, func(*linkscolly.Queue, *colly.HTMLElement) { f.set(true) },
		func(o *linkscolly.Options) { o.Session.Crawl = &pb.Crawl{Budget: &pb.Budget{MaxFetches: &most}} })
	if reason, why := q.Stopped(); reason != "linkscore_budget" || !strings.Contains(why, "does not know") || len(paths) > 7 {
		t.Fatalf("%d pages, %q, %q", len(paths), reason, why)
	}
}

func TestSeveralThreadsFetchEachPageOnce(t *testing.T) {
	target, _ := serve(t, &fake{})
	paths, _ := crawl(t, target, site(t).URL+"/", 4, nil)
	seen := map[string]bool{}
	for _, path := range paths {
		if seen[path] {
			t.Fatalf("%s came twice", path)
		}
		seen[path] = true
	}
	if len(seen) != 21 {
		t.Fatalf("%d pages", len(seen))
	}
}

func TestWithoutAServerTheCrawlIsCollysOwn(t *testing.T) {
	paths, q := crawl(t, "127.0.0.1:1", site(t).URL+"/", 1, nil)
	if len(paths) != 21 || paths[1] != "/bad/0" || paths[2] != "/good/0" {
		t.Fatalf("order: %v", paths)
	}
	if q.Stats.Fallback.Load() == 0 || q.Stats.Scored.Load() != 0 {
		t.Fatalf("stats: %+v", &q.Stats)
	}
}

func TestAServerThatIsLostHalfWayLosesNoPage(t *testing.T) {
	f := &fake{}
	target, server := serve(t, f)
	var once sync.Once
	paths, q := crawl(t, target, site(t).URL+"/", 1, func(q *linkscolly.Queue, _ *colly.HTMLElement) {
		if q.Stats.Pages.Load() == 5 {
			once.Do(server.Stop)
		}
	})
	if len(paths) != 21 || q.Stats.Pages.Load() != 5 {
		t.Fatalf("%d pages, %d sent", len(paths), q.Stats.Pages.Load())
	}
}

func TestAServerThatIsBackGetsWhatWasFetchedAndScoresWhatWaits(t *testing.T) {
	f := &fake{}
	target, _ := serve(t, f)
	fetched := 0
	paths, q := crawl(t, target, site(t).URL+"/", 1, func(*linkscolly.Queue, *colly.HTMLElement) {
		switch fetched++; fetched {
		case 5:
			f.set(true)
		case 12: // pages 6 to 12 wait to be sent
			f.set(false)
			f.waitFor(12)
		}
	})
	if len(paths) != 21 || len(f.pages) != 22 || q.Stats.Pages.Load() != 21 || q.Stats.Failed.Load() != 1 {
		t.Fatalf("%d pages, %d sent, %+v", len(paths), len(f.pages), q.Stats)
	}
	seen := map[string]bool{}
	for _, page := range f.pages {
		if seen[page.GetUrl()] {
			t.Fatalf("%s was sent twice", page.GetUrl())
		}
		seen[page.GetUrl()] = true
	}
}

func TestRewardsNameThePageAndItsTicket(t *testing.T) {
	f := &fake{}
	target, _ := serve(t, f)
	crawl(t, target, site(t).URL+"/", 1, func(q *linkscolly.Queue, e *colly.HTMLElement) {
		if strings.HasPrefix(e.Request.URL.Path, "/good") {
			q.Reward(e.Request, 1)
		}
	})
	if len(f.rewards) != 10 || f.rewards[0].GetReward() != 1 || string(f.rewards[0].GetTicket()) != "tg" {
		t.Fatalf("%v", f.rewards)
	}
}

func TestAnAsynchronousCollectorAndNumbersOutOfBoundsAreRefused(t *testing.T) {
	late := func(o *linkscolly.Options) { o.Session.Timeout = -3 }
	_, async := linkscolly.NewQueue(1, colly.NewCollector(colly.Async()), "127.0.0.1:1")
	_, none := linkscolly.NewQueue(-3, colly.NewCollector(), "127.0.0.1:1")
	_, past := linkscolly.NewQueue(1, colly.NewCollector(), "127.0.0.1:1", late)
	if async == nil || none == nil || past == nil {
		t.Fatal("it was taken", async, none, past)
	}
}
