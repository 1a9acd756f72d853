// Crawls a site with Colly, plain or in the order of a linkscore server, and prints the URLs it fetched.
//
//	go run ./example -start http://shop.example/ -fetches 500 -target localhost:7411
package main

import (
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

func main() {
	start := flag.String("start", "", "where to start")
	target := flag.String("target", "localhost:7411", "linkscore server; empty crawls in Colly's own order")
	proxy := flag.String("proxy", "", "HTTP proxy, for example that of a stored site")
	fetches := flag.Int64("fetches", 500, "pages to fetch")
	flag.Parse()
	site, err := url.Parse(*start)
	must(err)
	c := colly.NewCollector(colly.AllowedDomains(site.Hostname(), site.Host))
	if *proxy != "" {
		must(c.SetProxy(*proxy))
	}
	var stop func()
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

	if *target == "" {
		q, err := queue.New(2, nil)
		must(err)
		stop = q.Stop
		c.OnHTML("a[href]", func(e *colly.HTMLElement) { _ = q.AddURL(e.Request.AbsoluteURL(e.Attr("href"))) })
		must(q.AddURL(*start))
		must(q.Run(c))
		return
	}
	q, err := linkscolly.NewQueue(2, c, *target)
	must(err)
	stop = q.Stop
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { q.Add(e.Request, e.Attr("href")) })
	must(q.AddURL(*start))
	must(q.Run())
	must(q.Close())
	fmt.Fprintln(os.Stderr, q.Stats)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
