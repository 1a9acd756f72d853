// Crawls a site with Colly, plain or in the order of a linkscore server, and prints the URLs it fetched.
//
//	go run ./example -start http://shop.example/ -fetches 500 -target localhost:7411
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/queue"

	linkscolly "linkscore.example/go/colly"
)

func main() {
	start := flag.String("start", "", "where to start")
	target := flag.String("target", "localhost:7411", "linkscore server; empty crawls in Colly's own order")
	proxy := flag.String("proxy", "", "HTTP proxy, for example that of a stored site")
	fetches := flag.Int64("fetches", 500, "pages to fetch")
	threads := flag.Int("threads", 2, "fetches at once")
	crawl := flag.String("crawl", "colly", "name of the crawl on the server")
	flag.Parse()

	c := colly.NewCollector(colly.UserAgent("linkscore-colly-example"))
	if *proxy != "" {
		if err := c.SetProxy(*proxy); err != nil {
			log.Fatal(err)
		}
	}
	host := strings.SplitN(strings.SplitN(*start, "://", 2)[1], "/", 2)[0]
	c.AllowedDomains = []string{strings.SplitN(host, ":", 2)[0], host}
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

	began := time.Now()
	if *target == "" {
		q, err := queue.New(*threads, nil)
		if err != nil {
			log.Fatal(err)
		}
		stop = q.Stop
		c.OnHTML("a[href]", func(e *colly.HTMLElement) {
			if u := e.Request.AbsoluteURL(e.Attr("href")); u != "" {
				_ = q.AddURL(u)
			}
		})
		_ = q.AddURL(*start)
		if err := q.Run(c); err != nil {
			log.Fatal(err)
		}
	} else {
		q, err := linkscolly.NewQueue(*threads, c, *target, func(o *linkscolly.Options) { o.Crawl = *crawl })
		if err != nil {
			log.Fatal(err)
		}
		stop = q.Stop
		c.OnHTML("a[href]", func(e *colly.HTMLElement) { q.Add(e.Request, e.Attr("href")) })
		if err := q.AddURL(*start); err != nil {
			log.Fatal(err)
		}
		if err := q.Run(); err != nil {
			log.Fatal(err)
		}
		_ = q.Close()
		fmt.Fprintf(os.Stderr, "pages %d failed %d scored %d missed %d fallback %d guessed %d late %d; ",
			q.Stats.Pages.Load(), q.Stats.Failed.Load(), q.Stats.Scored.Load(), q.Stats.Missed.Load(), q.Stats.Fallback.Load(),
			q.Stats.Guessed.Load(), q.Stats.Late.Load())
	}
	fmt.Fprintf(os.Stderr, "%d fetches in %.1f s\n", min(fetched.Load(), *fetches), time.Since(began).Seconds())
}
