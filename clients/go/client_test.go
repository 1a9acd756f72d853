package linkscore_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	linkscore "linkscore.example/go"
	pb "linkscore.example/go/linkscorev1"
)

// fake answers as scripted and remembers what it was asked.
type fake struct {
	pb.UnimplementedLinkScoringServiceServer
	pb.UnimplementedCrawlServiceServer

	mu       sync.Mutex
	ingested []*pb.IngestPagesRequest
	tokens   []string
	deadline time.Duration
	fail     []error
	values   map[string]float64
	created  bool
	crawl    *pb.Crawl
	urls     func(*pb.RankBucketsRequest) []uint32
	refuse   map[string]error // what calls of a name fail with until it is taken out
	rewards  []*pb.Feedback
	spoil    func(*pb.IngestPagesResponse)
	calls    []string
}

func (f *fake) callCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls)
}

func (f *fake) refuses(err error, methods ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = map[string]error{}
	for _, method := range methods {
		f.refuse[method] = err
	}
}

func (f *fake) refused(method string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refuse[method]
}

func (f *fake) note(ctx context.Context, method string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		f.tokens = append(f.tokens, md.Get("authorization")...)
	}
	if until, ok := ctx.Deadline(); ok {
		f.deadline = time.Until(until)
	}
	f.calls = append(f.calls, method)
	if err := f.refuse[method]; err != nil {
		return err
	}
	if len(f.fail) == 0 {
		return nil
	}
	err := f.fail[0]
	f.fail = f.fail[1:]
	return err
}

func (f *fake) IngestPages(ctx context.Context, r *pb.IngestPagesRequest) (*pb.IngestPagesResponse, error) {
	if err := f.note(ctx, "IngestPages"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ingested = append(f.ingested, r)
	answer := &pb.IngestPagesResponse{}
	for range r.GetPages() {
		answer.Results = append(answer.Results, &pb.PageResult{Links: &pb.LinkScores{
			Urls: []string{"http://a.test/1", "", "http://a.test/2"}, Scores: []float64{.2, 0, .9},
			Buckets: []uint32{0, 0, 1}, BucketNames: []string{"low", "high"}, BucketValues: []float64{.3, .8},
			Tickets: []uint32{0, 0, 1}, TicketValues: [][]byte{[]byte("t0"), []byte("t1")},
			Statuses: map[uint32]*pb.ItemStatus{1: {Code: pb.ItemCode_ITEM_CODE_INVALID}},
		}})
	}
	if f.spoil != nil {
		f.spoil(answer)
	}
	return answer, nil
}

func (f *fake) RankBuckets(ctx context.Context, r *pb.RankBucketsRequest) (*pb.RankBucketsResponse, error) {
	if err := f.note(ctx, "RankBuckets"); err != nil {
		return nil, err
	}
	answer := &pb.RankBucketsResponse{}
	for i, name := range r.GetBuckets() {
		answer.Order = append(answer.Order, uint32(i))
		answer.Values = append(answer.Values, f.values[name])
	}
	if f.urls != nil {
		answer.Urls = f.urls(r)
		return answer, nil
	}
	answer.Urls = make([]uint32, len(answer.Values))
	if len(answer.Values) > 0 { // all places go to the best
		answer.Urls[slices.Index(answer.Values, slices.Max(answer.Values))] = r.GetN()
	}
	return answer, nil
}

func (f *fake) ReportFeedback(ctx context.Context, r *pb.ReportFeedbackRequest) (*pb.ReportFeedbackResponse, error) {
	if err := f.note(ctx, "ReportFeedback"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.rewards = append(f.rewards, r.GetFeedback()...)
	f.mu.Unlock()
	answer := &pb.ReportFeedbackResponse{}
	for _, event := range r.GetFeedback() {
		said := &pb.ItemStatus{Code: pb.ItemCode_ITEM_CODE_OK}
		if event.GetReward() > 1 {
			said = &pb.ItemStatus{Code: pb.ItemCode_ITEM_CODE_INVALID,
				Problems: []*pb.FieldProblem{{Field: "reward", Description: "must be in [0, 1]"}}}
		}
		answer.Statuses = append(answer.Statuses, said)
	}
	return answer, nil
}

func (f *fake) CreateCrawl(ctx context.Context, r *pb.CreateCrawlRequest) (*pb.CreateCrawlResponse, error) {
	if err := f.refused("CreateCrawl"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.created {
		return nil, status.Error(codes.AlreadyExists, "there")
	}
	f.created, f.crawl = true, r.GetCrawl()
	return &pb.CreateCrawlResponse{Crawl: r.GetCrawl()}, nil
}

func (f *fake) GetCrawl(ctx context.Context, _ *pb.GetCrawlRequest) (*pb.GetCrawlResponse, error) {
	if err := f.note(ctx, "GetCrawl"); err != nil {
		return nil, err
	}
	if f.crawl != nil {
		return &pb.GetCrawlResponse{Crawl: f.crawl, ServerVersion: "1.2.3"}, nil
	}
	return &pb.GetCrawlResponse{Crawl: &pb.Crawl{Name: "crawls/x", Policy: linkscore.Policy("harvest")}}, nil
}

func (f *fake) UpdateCrawl(_ context.Context, r *pb.UpdateCrawlRequest) (*pb.UpdateCrawlResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.crawl = r.GetCrawl()
	return &pb.UpdateCrawlResponse{Crawl: f.crawl}, nil
}

func serve(t *testing.T, f *fake, options ...linkscore.Options) *linkscore.Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(linkscore.MaxMessageBytes))
	pb.RegisterLinkScoringServiceServer(server, f)
	pb.RegisterCrawlServiceServer(server, f)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	client, err := linkscore.New(listener.Addr().String(), append(options, linkscore.Options{})[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestATokenFileThatIsMissingForAMomentLosesNoCall(t *testing.T) {
	f, path := &fake{}, filepath.Join(t.TempDir(), "token")
	crawl := serve(t, f, linkscore.Options{TokenFile: path}).Crawl("x")
	ingest := func() error {
		_, err := crawl.Ingest(t.Context(), linkscore.Page{URL: "http://a.test/", Body: []byte("<a>")})
		return err
	}
	if ingest() == nil {
		t.Fatal("a call without any token")
	}
	for _, change := range []func() error{
		func() error { return os.WriteFile(path, []byte("first\n"), 0o600) },
		func() error { return os.Remove(path) },
		func() error { return os.WriteFile(path, nil, 0o600) },
		func() error { return os.WriteFile(path, []byte("second"), 0o600) },
	} {
		if err := errors.Join(change(), ingest()); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"Bearer first", "Bearer first", "Bearer first", "Bearer second"}; !slices.Equal(f.tokens, want) {
		t.Fatalf("tokens: %q", f.tokens)
	}
}

func TestACrawlSaysInWordsWhatItIsFor(t *testing.T) {
	f := &fake{}
	client := serve(t, f)
	for _, text := range []string{"kayak repair", "kayak repair", "used cars"} {
		if _, err := client.EnsureCrawl(t.Context(), "words", &pb.Crawl{Wanted: &pb.Wanted{Queries: []string{text}}}); err != nil {
			t.Fatal(err)
		}
	}
	if said := f.crawl.GetWanted().GetQueries()[0]; said != "used cars" {
		t.Fatal(said)
	}
}

func TestPoliciesAreNamed(t *testing.T) {
	if linkscore.Policy("harvest").GetHarvest() == nil || linkscore.Policy("mine").GetExternal().GetName() != "mine" {
		t.Fatal(linkscore.Policy("harvest"), linkscore.Policy("mine"))
	}
}

func link(url, bucket string, score float64) linkscore.Link {
	return linkscore.Link{URL: url, Bucket: bucket, Score: score, BucketValue: score}
}

func ordered(t *testing.T, f *fake) *linkscore.Session {
	t.Helper()
	s, err := linkscore.NewSession(serve(t, f), "x", linkscore.SessionOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestASessionGivesSeedsThenTheBestBucketThenTheUnknown(t *testing.T) {
	f := &fake{values: map[string]float64{"a": .1, "b": .9}}
	s := ordered(t, f)
	s.AddUnknown("u", nil)
	s.Found("1", []linkscore.Link{link("1", "a", .9)}, true, nil) // the value of the bucket now counts, not the score then
	s.Found("2", []linkscore.Link{link("2", "b", .1)}, true, nil)
	s.Found("3", []linkscore.Link{link("3", "b", .1)}, true, nil)
	s.AddSeed("s", nil)
	var order []string
	for item := s.Next(t.Context()); item != nil; item = s.Next(t.Context()) {
		order = append(order, item.URL)
	}
	if strings.Join(order, "") != "s231u" || s.Len() != 0 {
		t.Fatal(order)
	}
}

func TestNothingGoesBeyondWhatWasHandedOutUntilSomethingIsDone(t *testing.T) {
	var asked []*pb.RankBucketsRequest
	f := &fake{values: map[string]float64{"a": .9, "b": .1}}
	f.urls = func(r *pb.RankBucketsRequest) []uint32 {
		asked = append(asked, r)
		return [][]uint32{{0, 1}, {0, 0}, {1, 0}}[min(len(asked), 3)-1]
	}
	s := ordered(t, f)
	for _, url := range []string{"1", "2", "3"} {
		s.Found(url, []linkscore.Link{link(url, "a", .9)}, true, nil)
		s.Found(url+"b", []linkscore.Link{link(url+"b", "b", .1)}, true, nil)
	}
	first := s.Next(t.Context())
	if first.URL != "1b" || s.Next(t.Context()) != nil || s.Next(t.Context()) != nil {
		t.Fatal("the second answer gave nothing, and asking again before anything is done is no use")
	}
	s.Done(first)
	if next := s.Next(t.Context()); next == nil || next.URL != "1" {
		t.Fatal(next)
	}
	if len(asked) != 3 || asked[1].GetInFlight()[0].GetBucket() != "b" || len(asked[2].GetInFlight()) != 0 {
		t.Fatal(asked)
	}
	if asked[0].GetN() != 1 || !slices.Equal(asked[1].GetWaiting(), []uint32{3, 2}) {
		t.Fatal(asked[1])
	}
}

func TestAURLFoundTwiceWaitsInBothBucketsAndIsGivenOnce(t *testing.T) {
	f := &fake{values: map[string]float64{"a": .1, "b": .9, "c": .5}}
	s := ordered(t, f)
	for _, found := range []linkscore.Link{link("1", "a", .1), link("2", "c", .1), link("1", "b", .1)} {
		found.Ticket = []byte("t" + found.Bucket)
		s.Found(found.URL, []linkscore.Link{found}, true, nil)
	}
	first, second, none := s.Next(t.Context()), s.Next(t.Context()), s.Next(t.Context())
	if first.URL != "1" || second.URL != "2" || none != nil {
		t.Fatal(first, second, none)
	}
	if string(first.Ticket) != "tb" {
		t.Fatalf("ticket %s is not that of the bucket it was taken from", first.Ticket)
	}
}
