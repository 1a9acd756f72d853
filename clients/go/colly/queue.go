// Package colly puts a Colly crawl's links in the order a linkscore server advises.
//
//	c := colly.NewCollector()
//	q, err := linkscolly.NewQueue(2, c, "localhost:7411")
//	c.OnHTML("a[href]", func(e *colly.HTMLElement) { q.Add(e.Request, e.Attr("href")) })
//	q.AddURL("http://shop.example/")
//	err = q.Run()
//
// A Queue stands in place of Colly's queue.Queue. Every page goes to the server with its body, and each link waits in the
// bucket it was given. Failed fetches are reported. While the server is away the crawl goes on.
package colly

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/gocolly/colly/v2"
	linkscore "linkscore.example/go"
)

// Where a request's Ctx holds the linkscore.Item it was made from, and the answer to its page.
const (
	itemKey   = "linkscore.item"
	answerKey = "linkscore.answer"
)

// Queue fetches the best URL first, with a number of goroutines.
type Queue struct {
	Stats *linkscore.Stats

	collector *colly.Collector
	session   *linkscore.Session
	client    *linkscore.Client
	threads   int

	mu      sync.Mutex
	changed *sync.Cond
	active  int
	stopped bool
}

// answer is what the server said about the links of one page.
type answer struct {
	links    map[string][]linkscore.Link
	answered bool // false if the server is away
}

// Options of a Queue.
type Options struct {
	// Crawl names the crawl on the server, "colly" if empty. Two runs of one name share what was learned.
	Crawl string
	// Session has what the crawl is made with, its examples, deadline of a call, whether the server is required, and the
	// log. With a budget no fetch begins beyond it, Run returns, and Stopped says why.
	Session linkscore.SessionOptions
	// Client has token and TLS.
	Client linkscore.Options
}

// NewQueue returns a queue of a collector that is not asynchronous, ordered by the server at host:port. One that is away is
// no error unless it is required: the crawl then begins in Colly's own order. A configuration it refuses is one.
func NewQueue(threads int, c *colly.Collector, target string, options ...func(*Options)) (*Queue, error) {
	set := Options{Crawl: "colly", Session: linkscore.SessionOptions{Key: normal}}
	for _, option := range options {
		option(&set)
	}
	if c.Async {
		return nil, errors.New("linkscore: the collector is asynchronous, and a Queue waits for each page: drop colly.Async")
	}
	if threads < 1 {
		return nil, fmt.Errorf("linkscore: threads %d: must be at least 1", threads)
	}
	client, err := linkscore.New(target, set.Client)
	if err != nil {
		return nil, err
	}
	session, err := linkscore.NewSession(client, set.Crawl, set.Session)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	q := &Queue{
		Stats: &session.Stats, collector: c, session: session, client: client, threads: threads,
	}
	q.changed = sync.NewCond(&q.mu)
	c.OnResponse(q.onResponse)
	c.OnError(q.onError)
	return q, nil
}

// AddURL lets a start page wait; start pages go first.
func (q *Queue) AddURL(address string) error {
	parsed, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("linkscore: %w", err)
	}
	if !parsed.IsAbs() {
		return fmt.Errorf("linkscore: start page %q must be absolute", address)
	}
	q.session.AddSeed(address, nil)
	q.changed.Broadcast()
	return nil
}

// AddRequest lets a request wait, as queue.Queue does. It keeps its Ctx, headers and method.
func (q *Queue) AddRequest(r *colly.Request) error {
	q.add(r.Ctx, r.URL.String(), r)
	return nil
}

// Add lets a link of a page wait; call it from OnHTML with e.Request. Links that were visited or wait already, and
// those that are no URL, are dropped.
func (q *Queue) Add(page *colly.Request, href string) {
	if absolute := page.AbsoluteURL(href); absolute != "" {
		q.add(page.Ctx, absolute, nil)
	}
}

// Reward says what a page was worth, in [0, 1]; nothing is worth saying too.
func (q *Queue) Reward(page *colly.Request, worth float64) {
	q.session.Reward(context.Background(), page.URL.String(), ticketOf(page.Ctx), worth)
}

// IsEmpty says whether nothing waits.
func (q *Queue) IsEmpty() bool { return q.session.Len() == 0 }

// Size counts the URLs that wait.
func (q *Queue) Size() (int, error) { return q.session.Len(), nil }

// Stop lets the fetches under way end and no other begin; call it from any callback.
func (q *Queue) Stop() {
	q.mu.Lock()
	q.stopped = true
	q.mu.Unlock()
	q.changed.Broadcast()
}

// Stopped says why the crawl ended by its budget, "linkscore_budget" for example, and in a sentence; empty if it did not.
func (q *Queue) Stopped() (reason, why string) { return q.session.Stopped() }

// Run fetches until nothing waits, Stop is called, the budget or the collector's MaxRequests are spent.
func (q *Queue) Run() error {
	q.mu.Lock()
	q.stopped = false
	q.mu.Unlock()
	var group sync.WaitGroup
	for range q.threads {
		group.Add(1)
		go func() {
			defer group.Done()
			for q.begin() {
				item := q.session.Next(context.Background())
				if item != nil {
					q.fetch(item)
					q.session.Done(item)
				}
				q.end(item != nil)
			}
		}()
	}
	group.Wait()
	return nil
}

// Close sends what waited for the server, if it is there, logs how the crawl went and ends the connection.
func (q *Queue) Close() error {
	q.session.Close()
	return q.client.Close()
}

// begin waits until something can be fetched; false ends the goroutine.
func (q *Queue) begin() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	none := func() bool { return q.session.Len() == 0 || q.session.Full(q.active) }
	for !q.stopped && q.active > 0 && none() {
		q.changed.Wait()
	}
	if q.stopped || none() {
		q.changed.Broadcast()
		return false
	}
	q.active++
	return true
}

// end notes the end of a fetch; of one that did not begin, as nothing should be fetched now, when another has ended.
func (q *Queue) end(fetched bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.active--; !fetched && q.active > 0 && !q.stopped {
		q.changed.Wait()
		return
	}
	q.changed.Broadcast()
}

func (q *Queue) fetch(item *linkscore.Item) {
	ctx, method := colly.NewContext(), http.MethodGet
	var headers http.Header
	var body io.Reader
	given, _ := item.Value.(*colly.Request)
	if given != nil {
		given.Ctx.ForEach(func(key string, value any) any { ctx.Put(key, value); return nil })
		method, body = given.Method, given.Body
		if given.Headers != nil {
			headers = *given.Headers
		}
	}
	ctx.Put(itemKey, item)
	err := q.collector.Request(method, item.URL, body, ctx, headers)
	ctx.Put(answerKey, nil) // requests of the page keep its Ctx while they wait
	if errors.Is(err, colly.ErrMaxRequests) {
		q.Stop()
	}
}

func (q *Queue) add(page *colly.Context, target string, request *colly.Request) {
	key := normal(target)
	if seen, err := q.collector.HasVisited(key); err == nil && seen {
		return
	}
	if said, ofPage := page.GetAny(answerKey).(answer); ofPage {
		q.session.Found(key, said.links[key], said.answered, request)
	} else { // of no page: a request the caller made
		q.session.AddUnknown(key, request)
	}
	q.changed.Broadcast()
}

func (q *Queue) onResponse(r *colly.Response) {
	page := linkscore.Page{
		URL: requested(r.Request), FinalURL: r.Request.URL.String(), StatusCode: r.StatusCode,
		ContentType: q.contentType(r), Body: r.Body, Ticket: ticketOf(r.Ctx),
	}
	found, answered := q.session.Page(context.Background(), page)
	r.Ctx.Put(answerKey, answer{linkscore.ByURL(found, normal), answered})
}

func (q *Queue) onError(r *colly.Response, err error) {
	reason := ""
	if r.StatusCode == 0 {
		reason = err.Error()
	}
	q.session.Failed(context.Background(), requested(r.Request), r.StatusCode, reason, ticketOf(r.Ctx))
}

// contentType says what Body is now: Colly turns a body into UTF-8 whose header names another charset.
func (q *Queue) contentType(r *colly.Response) string {
	header := r.Headers.Get("Content-Type")
	kind, params, err := mime.ParseMediaType(header)
	if err != nil || !strings.HasPrefix(kind, "text/") {
		return header
	}
	if _, said := params["charset"]; said || q.collector.DetectCharset {
		return kind + "; charset=utf-8"
	}
	return header
}

func ticketOf(ctx *colly.Context) []byte {
	if item, ok := ctx.GetAny(itemKey).(*linkscore.Item); ok {
		return item.Ticket
	}
	return nil
}

// requested is the URL asked for, before redirects.
func requested(r *colly.Request) string {
	if item, ok := r.Ctx.GetAny(itemKey).(*linkscore.Item); ok {
		return item.URL
	}
	return r.URL.String()
}

// normal writes a URL so that Colly's and the server's forms of it are equal: no fragment, no default port, host in
// lower case, dot segments gone, a path. What is no URL stays as it is.
func normal(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	plain := url.URL{Scheme: strings.ToLower(u.Scheme), User: u.User, Host: strings.ToLower(u.Host), Path: u.Path}
	if port := u.Port(); (plain.Scheme == "http" && port == "80") || (plain.Scheme == "https" && port == "443") {
		plain.Host = strings.TrimSuffix(plain.Host, ":"+port)
	}
	if plain.Path == "" {
		plain.Path = "/"
	}
	return plain.ResolveReference(&url.URL{Path: plain.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}).String()
}
