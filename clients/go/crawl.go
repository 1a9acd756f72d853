package linkscore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "linkscore.example/go/linkscorev1"
)

// Crawl is a crawl of the server, by resource name.
type Crawl struct {
	Name string
	// Config is the crawl as EnsureCrawl found or made it, nil of a handle that asked the server nothing.
	Config *pb.Crawl

	client *Client
}

// Page is one fetch, failed ones included: a failed fetch teaches the server not to send you there again.
type Page struct {
	URL, FinalURL string
	// StatusCode is the HTTP status, 0 if there was no answer; then FetchError says why, for example "timeout".
	StatusCode int
	FetchError string
	// ContentType is the header; Body the bytes as received, compressed if ContentEncoding says so.
	ContentType, ContentEncoding string
	Body                         []byte
	// Outlinks are the links the crawler found itself; nil lets the server find all of them in Body.
	Outlinks []Outlink
	// Ticket is what came with the link that led here; nil for seeds.
	Ticket []byte
	// EventID makes a repeated call harmless; a random one is made if it is empty.
	EventID   string
	FetchTime time.Time
}

// Outlink is a link as the crawler found it.
type Outlink struct{ URL, Anchor, TagPath, Rel string }

// Result is what the server says of one page.
type Result struct {
	// Links are scored, in the order of Page.Outlinks, or of the document when the server found them.
	Links []Link
	// Message has the rest: cluster, page type, thread, suggestions.
	Message *pb.PageResult
}

// PolicySpec says how links are scored; nil leaves it to the crawl.
type PolicySpec = pb.PolicySpec

// Policy names a policy with its default parameters. For others fill in a PolicySpec, or use ParsePolicy.
func Policy(name string) *PolicySpec {
	spec, err := ParsePolicy(name, nil)
	if err != nil { // only parameters can be wrong
		panic(err)
	}
	return spec
}

// ParsePolicy returns a policy with parameters by name, as JSON values. A name the contract does not know is
// that of a policy from outside the server's distribution.
func ParsePolicy(name string, params []byte) (*PolicySpec, error) {
	if len(params) == 0 {
		params = []byte("{}")
	}
	field := (&pb.PolicySpec{}).ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(name))
	text := fmt.Sprintf(`{%q: %s}`, name, params)
	if field == nil || name == "external" {
		text = fmt.Sprintf(`{"external": {"name": %q, "params": %s}}`, name, params)
	}
	spec := &pb.PolicySpec{}
	if err := protojson.Unmarshal([]byte(text), spec); err != nil {
		return nil, fmt.Errorf("linkscore: policy %s: %w", name, err)
	}
	return spec, nil
}

// Crawl returns a handle of a crawl that exists; it asks the server nothing.
func (c *Client) Crawl(id string) *Crawl { return &Crawl{Name: crawlName(id), client: c} }

// Wanted says in words what a crawl is for: queries, samples, languages, least length.
type Wanted = pb.Wanted

// Query is what a crawl is for, as one would type it into a search box.
func Query(text string) *Wanted { return &Wanted{Queries: []*pb.WantedQuery{{Text: text}}} }

// CrawlOption adds to the configuration of a crawl.
type CrawlOption func(*pb.Crawl)

// WithWanted says what the crawl is for. With a nil policy it is then scored by `topic`.
func WithWanted(wanted *Wanted) CrawlOption { return func(crawl *pb.Crawl) { crawl.Wanted = wanted } }

// WithExamples shows pages like those wanted, at most 100; a crawl that is there gets those it lacks.
func WithExamples(examples ...*pb.ExamplePage) CrawlOption {
	return func(crawl *pb.Crawl) { crawl.Examples = examples }
}

// ReadExamples reads examples that are given as URL, or as URL=FILE with the HTML of the page.
func ReadExamples(given ...string) ([]*pb.ExamplePage, error) {
	var examples []*pb.ExamplePage
	for _, text := range given {
		example := &pb.ExamplePage{Url: text}
		at := strings.LastIndex(text, "=")
		name := text[at+1:]
		_, missing := os.Stat(name)
		if at >= 0 && (missing == nil || strings.HasSuffix(name, ".html")) {
			body, err := os.ReadFile(name)
			if err != nil {
				return nil, fmt.Errorf("linkscore: example %q: must be URL or URL=FILE: %w", text, err)
			}
			example = &pb.ExamplePage{Url: text[:at], Body: body}
		}
		examples = append(examples, example)
	}
	return examples, nil
}

// EnsureCrawl creates a crawl, or takes the one there is; that one then serves the policy given here, if one is,
// and takes what is wanted here, the budget and the revisits, if they are set. One that differs in what is fixed when a crawl is made (scope, seed,
// groups and the like) is an AlreadyExists error whose Violations name each field; nothing is changed then.
func (c *Client) EnsureCrawl(
	ctx context.Context, id string, policy *PolicySpec, options ...CrawlOption,
) (*Crawl, error) {
	crawl := c.Crawl(id)
	config := &pb.Crawl{Name: crawl.Name, Policy: policy}
	for _, option := range options {
		option(config)
	}
	made, err := c.Crawls.CreateCrawl(ctx, &pb.CreateCrawlRequest{Crawl: config})
	if err == nil {
		crawl.Config = made.GetCrawl()
		return crawl, nil
	}
	if CodeOf(err) != codes.AlreadyExists {
		return nil, err
	}
	there, err := c.Crawls.GetCrawl(ctx, &pb.GetCrawlRequest{Name: crawl.Name})
	if err != nil {
		return nil, err
	}
	if differs := fixedDiffer(there.GetCrawl(), config); len(differs) > 0 {
		return nil, &Error{Code: codes.AlreadyExists, Message: crawl.Name + " is there and differs", Violations: differs}
	}
	crawl.Config = there.GetCrawl()
	var changed []string
	if policy != nil && !proto.Equal(there.GetCrawl().GetPolicy(), policy) {
		changed = append(changed, "policy")
	}
	if config.Wanted != nil && !proto.Equal(there.GetCrawl().GetWanted(), config.Wanted) {
		changed = append(changed, "wanted")
	}
	if config.Budget != nil && !proto.Equal(there.GetCrawl().GetBudget(), config.Budget) {
		changed = append(changed, "budget")
	}
	known := map[string]bool{}
	for _, example := range there.GetCrawl().GetExamples() {
		known[example.GetUrl()] = true
	}
	config.Examples = slices.DeleteFunc(config.Examples, func(example *pb.ExamplePage) bool {
		return example.GetUrl() == "" || known[example.GetUrl()]
	})
	if len(config.Examples) > 0 {
		changed = append(changed, "examples")
	}
	if config.Revisit != nil && !proto.Equal(there.GetCrawl().GetRevisit(), config.Revisit) {
		changed = append(changed, "revisit")
	}
	if len(changed) == 0 {
		return crawl, nil
	}
	updated, err := c.Crawls.UpdateCrawl(ctx, &pb.UpdateCrawlRequest{
		Crawl: config, UpdateMask: &fieldmaskpb.FieldMask{Paths: changed},
	})
	if err != nil {
		return nil, err
	}
	crawl.Config = updated.GetCrawl()
	return crawl, nil
}

// fixedFields of a crawl stay as they were when it was made.
var fixedFields = []protoreflect.Name{"scope", "learning", "learn", "seed", "groups", "keep_titles"}

// fixedDiffer names what is asked for and cannot be had of the crawl there is.
func fixedDiffer(there, asked *pb.Crawl) (differs []Violation) {
	is, wants := there.ProtoReflect(), asked.ProtoReflect()
	for _, name := range fixedFields {
		field := wants.Descriptor().Fields().ByName(name)
		if wants.Has(field) && !agrees(field, is.Get(field), wants.Get(field)) {
			differs = append(differs, Violation{
				Field: "crawl." + string(name), Description: fmt.Sprintf("is %v, asked for %v", is.Get(field), wants.Get(field)),
			})
		}
	}
	if n := len(asked.GetExperience()); n > 0 && n != int(there.GetExperienceCount()) {
		differs = append(differs, Violation{
			Field: "crawl.experience", Description: fmt.Sprintf("is of %d documents, asked for %d", there.GetExperienceCount(), n),
		})
	}
	return differs
}

// agrees says whether a value is as asked; of a message, in what is asked of it.
func agrees(field protoreflect.FieldDescriptor, is, wants protoreflect.Value) bool {
	if field.Message() == nil {
		return is.Equal(wants)
	}
	merged := proto.Clone(is.Message().Interface())
	proto.Merge(merged, wants.Message().Interface())
	return proto.Equal(merged, is.Message().Interface())
}

// ping asks the server for as little as it can.
func (c *Crawl) ping(ctx context.Context) error {
	_, err := c.ServerVersion(ctx)
	return err
}

// ServerVersion is that of the server that answers, empty of one that does not say.
func (c *Crawl) ServerVersion(ctx context.Context) (string, error) {
	answer, err := c.client.Crawls.GetCrawl(ctx, &pb.GetCrawlRequest{Name: c.Name})
	return answer.GetServerVersion(), err
}

// Ingest sends fetched pages and returns a result for each, in order. All of a page's links belong in one call:
// cut after scoring, never before. A page that breaks a rule has Message.Status.Code ITEM_CODE_INVALID.
func (c *Crawl) Ingest(ctx context.Context, pages ...Page) ([]Result, error) {
	request := &pb.IngestPagesRequest{Crawl: c.Name}
	for _, page := range pages {
		request.Pages = append(request.Pages, page.message())
	}
	answer, err := c.client.Links.IngestPages(ctx, request)
	if err != nil {
		return nil, err
	}
	if len(answer.GetResults()) != len(pages) {
		return nil, odd("it has another number of results than pages were sent")
	}
	results := make([]Result, len(answer.GetResults()))
	for i, result := range answer.GetResults() {
		if err := readable(result.GetLinks()); err != nil {
			return nil, err
		}
		results[i] = Result{Rows(result.GetLinks()), result}
	}
	return results, nil
}

// Failed reports a fetch that brought no page.
func (c *Crawl) Failed(ctx context.Context, url string, status int, reason string, ticket []byte) error {
	if status == 0 && reason == "" {
		reason = "unknown"
	}
	_, err := c.Ingest(ctx, Page{URL: url, StatusCode: status, FetchError: reason, Ticket: ticket})
	return err
}

// RankBuckets returns the value of each bucket now. Name those that are not empty, every few fetches.
func (c *Crawl) RankBuckets(ctx context.Context, buckets []string) (map[string]float64, error) {
	values, _, err := c.PlanBuckets(ctx, Places{Buckets: buckets})
	return values, err
}

// Places asks which links to fetch next while others are under way.
type Places struct {
	// Buckets that are not empty, the one whose link waits longest first, and how many links of each wait.
	Buckets []string
	Waiting []uint32
	// InFlight counts the links that were taken and not answered yet, by the bucket they were taken from.
	InFlight map[string]int
	// N is how many links to hand out; Fill asks for that many even where little is known.
	N    int
	Fill bool
}

// PlanBuckets returns the value of each bucket, and how many links of each to fetch before asking again. These may
// be fewer than asked for, none even: wait for the next answer then. Of a server that hands none out urls is nil.
func (c *Crawl) PlanBuckets(ctx context.Context, places Places) (values map[string]float64, urls map[string]int, err error) {
	request := &pb.RankBucketsRequest{
		Crawl: c.Name, Buckets: places.Buckets, Waiting: places.Waiting, N: uint32(places.N), Fill: places.Fill,
	}
	for bucket, count := range places.InFlight {
		request.InFlight = append(request.InFlight, &pb.BucketInFlight{Bucket: bucket, Count: proto.Uint32(uint32(count))})
	}
	answer, err := c.client.Links.RankBuckets(ctx, request)
	if err != nil {
		return nil, nil, err
	}
	if err := orderly(answer, len(places.Buckets)); err != nil {
		return nil, nil, err
	}
	values = make(map[string]float64, len(places.Buckets))
	if len(answer.GetUrls()) > 0 {
		urls = map[string]int{}
	}
	for i, at := range answer.GetOrder() {
		values[places.Buckets[at]] = answer.GetValues()[i]
		if i < len(answer.GetUrls()) && answer.GetUrls()[i] > 0 {
			urls[places.Buckets[at]] = int(answer.GetUrls()[i])
		}
	}
	return values, urls, nil
}

// Candidate is a link to score again: its URL and the ticket it was given.
type Candidate struct {
	URL    string
	Ticket []byte
}

// Score scores links again, in the order given.
func (c *Crawl) Score(ctx context.Context, links ...Candidate) ([]Link, error) {
	request := &pb.ScoreLinksRequest{Crawl: c.Name}
	for _, link := range links {
		request.Links = append(request.Links, &pb.CandidateLink{Url: link.URL, Ticket: link.Ticket})
	}
	answer, err := c.client.Links.ScoreLinks(ctx, request)
	if err != nil {
		return nil, err
	}
	if len(answer.GetLinks().GetScores()) != len(links) {
		return nil, odd("it has another number of scores than links were sent")
	}
	if err := readable(answer.GetLinks()); err != nil {
		return nil, err
	}
	rows := Rows(answer.GetLinks())
	for i := range rows {
		rows[i].URL = links[i].URL
	}
	return rows, nil
}

// Reward reports what extraction found on a page: its worth in [0, 1]. Late and repeated reports are fine, the
// last one counts.
func (c *Crawl) Reward(ctx context.Context, url string, ticket []byte, worth float64) error {
	return c.report(ctx, reward{url, ticket, worth, eventID()})
}

// report sends rewards; its error is the first of them that breaks a rule.
func (c *Crawl) report(ctx context.Context, rewards ...reward) error {
	request := &pb.ReportFeedbackRequest{Crawl: c.Name}
	for _, r := range rewards {
		request.Feedback = append(request.Feedback, &pb.Feedback{
			EventId: r.eventID, Url: r.url, Ticket: r.ticket, Outcome: &pb.Feedback_Reward{Reward: r.worth},
		})
	}
	answer, err := c.client.Links.ReportFeedback(ctx, request)
	if err != nil {
		return err
	}
	for _, status := range answer.GetStatuses() {
		if err := itemError(status); err != nil {
			return err
		}
	}
	return nil
}

// NotifyChanged says that known pages have changed, at most 10,000, at a time or, if it is zero, now. It returns what
// became of each URL, in their order. Repeats are fine.
func (c *Crawl) NotifyChanged(ctx context.Context, urls []string, changed time.Time) ([]*pb.NoticeStatus, error) {
	request := &pb.NotifyChangedRequest{Crawl: c.Name, Urls: urls}
	if !changed.IsZero() {
		request.ChangeTime = timestamppb.New(changed)
	}
	answer, err := c.client.Links.NotifyChanged(ctx, request)
	return answer.GetStatuses(), err
}

// Explain says in one sentence why a link has its score.
func (c *Crawl) Explain(ctx context.Context, url string, ticket []byte) (*pb.LinkExplanation, error) {
	answer, err := c.client.Links.ScoreLinks(ctx, &pb.ScoreLinksRequest{
		Crawl: c.Name, Links: []*pb.CandidateLink{{Url: url, Ticket: ticket}}, Explain: true,
	})
	if err != nil {
		return nil, err
	}
	explained := answer.GetExplanations()[0]
	return explained, itemError(explained.GetStatus())
}

// failed says whether a fetch brought no page.
func (p Page) failed() bool { return p.FetchError != "" || p.StatusCode >= 400 }

func (p Page) message() *pb.Page {
	message := &pb.Page{
		EventId: p.EventID, Url: p.URL, FinalUrl: p.FinalURL, StatusCode: int32(p.StatusCode),
		FetchError: p.FetchError, ContentType: p.ContentType, ContentEncoding: p.ContentEncoding, Ticket: p.Ticket,
	}
	if message.EventId == "" {
		message.EventId = eventID()
	}
	if p.Body != nil {
		message.Content = &pb.Page_Body{Body: p.Body}
		if message.StatusCode == 0 && p.FetchError == "" {
			message.StatusCode = 200
		}
	}
	for _, link := range p.Outlinks {
		message.Outlinks = append(message.Outlinks,
			&pb.Outlink{Url: link.URL, AnchorText: link.Anchor, TagPath: link.TagPath, Rel: link.Rel})
	}
	if !p.FetchTime.IsZero() {
		message.FetchTime = timestamppb.New(p.FetchTime)
	}
	return message
}

// policyName is the name that a policy is chosen by.
func policyName(spec *PolicySpec) string {
	if name := spec.GetExternal().GetName(); name != "" {
		return name
	}
	message := spec.ProtoReflect()
	if field := message.WhichOneof(message.Descriptor().Oneofs().ByName("policy")); field != nil {
		return string(field.Name())
	}
	return ""
}

func crawlName(id string) string {
	if strings.HasPrefix(id, "crawls/") {
		return id
	}
	return "crawls/" + url.PathEscape(id)
}

func eventID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails since Go 1.24, and before only without a random device
	return hex.EncodeToString(id[:])
}

func itemError(status *pb.ItemStatus) error {
	if status.GetCode() != pb.ItemCode_ITEM_CODE_INVALID {
		return nil
	}
	made := &Error{Code: codes.InvalidArgument, Message: "the item breaks a rule"}
	for _, p := range status.GetProblems() {
		made.Violations = append(made.Violations, Violation{p.GetField(), p.GetDescription(), p.GetReason()})
	}
	return made
}
