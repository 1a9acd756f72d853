// A Colly crawl in linkscore's order: go run . -start http://127.0.0.1:8800/
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"net/url"
	"os"
	"sync/atomic"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/queue"

	linkscolly "linkscore.example/go/colly"
)

var (
	start   = flag.String("start", "", "where to start")
	target  = flag.String("target", "localhost:7411", "linkscore server; empty crawls in Colly's own order")
	proxy   = flag.String("proxy", "", "HTTP proxy, for example that of a stored site")
	fetches = flag.Int64("fetches", 200, "pages to fetch")
)

func main() {
	flag.Parse()
	site, err := url.Parse(*start)
	must(err)
	c := colly.NewCollector(colly.AllowedDomains(site.Hostname(), site.Host))
	if *proxy != "" {
		must(c.SetProxy(*proxy))
	}
	if *target == "" {
		must(plain(c))
		return
	}
	q, err := linkscolly.NewQueue(2, c, *target) // instead of queue.New(2, nil)
	must(err)
	count(c, q.Stop)
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { q.Add(e.Request, e.Attr("href")) })
	must(errors.Join(q.AddURL(*start), q.Run(), q.Close()))
	fmt.Fprintln(os.Stderr, q.Stats)
}

func plain(c *colly.Collector) error {
	q, err := queue.New(2, nil)
	must(err)
	count(c, q.Stop)
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { _ = q.AddURL(e.Request.AbsoluteURL(e.Attr("href"))) })
	return errors.Join(q.AddURL(*start), q.Run(c))
}

// count prints what was fetched, until it is enough.
func count(c *colly.Collector, stop func()) {
	var fetched atomic.Int64
	done := func(r *colly.Response) {
		if fetched.Add(1) <= *fetches {
			fmt.Printf("%d\t%s\n", r.StatusCode, r.Request.URL)
		} else {
			stop()
		}
	}
	c.OnResponse(done)
	c.OnError(func(r *colly.Response, _ error) { done(r) })
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
