package linkscore

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "linkscore.example/go/linkscorev1"
)

// Crawl is a crawl of the server, by resource name.
type Crawl struct {
	Name string

	client *Client
}

// Page is one fetch, failed ones included: a failed fetch teaches the server not to send you there again.
type Page struct {
	URL, FinalURL string
	// StatusCode is the HTTP status, 0 if there was no answer; then FetchError says why, for example "timeout".
	StatusCode int
	FetchError string
	// ContentType is the header, Body what came.
	ContentType string
	Body        []byte
	// Outlinks are the links the crawler found itself; nil lets the server find all of them in Body.
	Outlinks []Outlink
	// Ticket is what came with the link that led here; nil for seeds.
	Ticket []byte
	// EventID makes a repeated call harmless; a random one is sent if it is empty.
	EventID string
}

// Outlink is a link as the crawler found it.
type Outlink struct{ URL, Anchor string }

// Result is what the server says of one page.
type Result struct {
	// Links are scored, in the order of Page.Outlinks, or of the document when the server found them.
	Links []Link
	// Message has the rest: cluster, page type, thread.
	Message *pb.PageResult
}

// Policy names a policy with its default parameters; a name the contract does not know is that of a policy from outside.
func Policy(name string) *pb.PolicySpec {
	spec := &pb.PolicySpec{}
	message := spec.ProtoReflect()
	if field := message.Descriptor().Fields().ByName(protoreflect.Name(name)); field != nil && name != "external" {
		message.Set(field, message.NewField(field))
	} else {
		spec.Policy = &pb.PolicySpec_External{External: &pb.ExternalPolicy{Name: name}}
	}
	return spec
}

// Crawl returns a handle of a crawl that exists; it asks the server nothing.
func (c *Client) Crawl(id string) *Crawl { return &Crawl{Name: crawlName(id), client: c} }

// readExamples reads examples that are given as URL, or as URL=FILE with the HTML of the page.
func readExamples(given []string) ([]*pb.ExamplePage, error) {
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

// EnsureCrawl creates a crawl, or takes the one there is, which then gets what is set here: policy, wanted, budget, revisit,
// examples. Nil leaves all to the server. What is fixed when a crawl is made (scope, seed and the like) and differs is an
// error of the server that names the field.
func (c *Client) EnsureCrawl(ctx context.Context, id string, config *pb.Crawl) (*Crawl, error) {
	crawl := c.Crawl(id)
	asked := &pb.Crawl{}
	proto.Merge(asked, config)
	asked.Name = crawl.Name
	_, err := c.Crawls.CreateCrawl(ctx, &pb.CreateCrawlRequest{Crawl: asked})
	if CodeOf(err) == codes.AlreadyExists {
		_, err = c.Crawls.UpdateCrawl(ctx, &pb.UpdateCrawlRequest{Crawl: asked})
	}
	return crawl, err
}

// Ingest sends fetched pages and returns a result for each, in order. Send all links of a page and cut after scoring. A page
// that breaks a rule has Message.Status.Code ITEM_CODE_INVALID.
func (c *Crawl) Ingest(ctx context.Context, pages ...Page) ([]Result, error) {
	asked := &pb.IngestPagesRequest{Crawl: c.Name}
	for _, page := range pages {
		asked.Pages = append(asked.Pages, page.message())
	}
	answer, err := c.client.Links.IngestPages(ctx, asked)
	if err != nil {
		return nil, err
	}
	if len(answer.GetResults()) != len(pages) {
		return nil, odd("it has another number of results than pages were sent")
	}
	results := make([]Result, len(pages))
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
	_, err := c.Ingest(ctx, failure(url, status, reason, ticket))
	return err
}

func failure(url string, status int, reason string, ticket []byte) Page {
	if status == 0 && reason == "" {
		reason = "unknown"
	}
	return Page{URL: url, StatusCode: status, FetchError: reason, Ticket: ticket}
}

// RankBuckets returns the value of each bucket, and how many links of each to fetch before asking again. These may
// be fewer than asked for, none even: wait for the next answer then.
func (c *Crawl) RankBuckets(ctx context.Context, asked *pb.RankBucketsRequest) (values map[string]float64, urls map[string]int, err error) {
	asked.Crawl = c.Name
	answer, err := c.client.Links.RankBuckets(ctx, asked)
	if err != nil {
		return nil, nil, err
	}
	if err := orderly(answer, len(asked.GetBuckets())); err != nil {
		return nil, nil, err
	}
	values, urls = map[string]float64{}, map[string]int{}
	for i, at := range answer.GetOrder() {
		values[asked.GetBuckets()[at]] = answer.GetValues()[i]
		if i < len(answer.GetUrls()) && answer.GetUrls()[i] > 0 {
			urls[asked.GetBuckets()[at]] = int(answer.GetUrls()[i])
		}
	}
	if len(values) < len(answer.GetOrder()) {
		return nil, nil, odd("its order names a bucket twice")
	}
	return values, urls, nil
}

// Reward reports what extraction found on a page: its worth in [0, 1]. Late and repeated reports are fine, the
// last one counts.
func (c *Crawl) Reward(ctx context.Context, url string, ticket []byte, worth float64) error {
	return c.reward(ctx, feedback(url, ticket, worth))
}

func feedback(url string, ticket []byte, worth float64) *pb.Feedback {
	return &pb.Feedback{EventId: rand.Text(), Url: url, Ticket: ticket, Outcome: &pb.Feedback_Reward{Reward: worth}}
}

func (c *Crawl) reward(ctx context.Context, event *pb.Feedback) error {
	request := &pb.ReportFeedbackRequest{Crawl: c.Name, Feedback: []*pb.Feedback{event}}
	answer, err := c.client.Links.ReportFeedback(ctx, request)
	for _, status := range answer.GetStatuses() {
		err = cmp.Or(err, itemError(status))
	}
	return err
}

func (p Page) failed() bool { return p.FetchError != "" || p.StatusCode >= 400 }

func (p Page) message() *pb.Page {
	message := &pb.Page{
		EventId: cmp.Or(p.EventID, rand.Text()), Url: p.URL, FinalUrl: p.FinalURL, StatusCode: int32(p.StatusCode),
		FetchError: p.FetchError, ContentType: p.ContentType, Ticket: p.Ticket,
	}
	if p.Body != nil {
		message.Content = &pb.Page_Body{Body: p.Body}
		if message.StatusCode == 0 && p.FetchError == "" {
			message.StatusCode = 200
		}
	}
	for _, link := range p.Outlinks {
		message.Outlinks = append(message.Outlinks, &pb.Outlink{Url: link.URL, AnchorText: link.Anchor})
	}
	return message
}

func crawlName(id string) string {
	if strings.HasPrefix(id, "crawls/") {
		return id
	}
	return "crawls/" + url.PathEscape(id)
}

func itemError(status *pb.ItemStatus) error {
	if status.GetCode() != pb.ItemCode_ITEM_CODE_INVALID {
		return nil
	}
	made := &Error{Code: codes.InvalidArgument, Message: "the item breaks a rule"}
	for _, p := range status.GetProblems() {
		made.Message += fmt.Sprintf("; %s: %s", p.GetField(), p.GetDescription())
		made.Violations = append(made.Violations, &errdetails.BadRequest_FieldViolation{Field: p.GetField(), Description: p.GetDescription()})
	}
	return made
}
