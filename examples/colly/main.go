// A Colly crawl in linkscore's order: go run . http://127.0.0.1:8800/
package main

import (
	"errors"
	"fmt"
	"log"
	"net/url"
	"os"
	"sync/atomic"

	"github.com/gocolly/colly/v2"

	linkscolly "linkscore.example/go/colly"
)

const fetches = 200

func main() {
	start, target := os.Args[1], "localhost:7411"
	if len(os.Args) > 2 {
		target = os.Args[2]
	}
	site, err := url.Parse(start)
	if err != nil {
		log.Fatal(err)
	}
	c := colly.NewCollector(colly.AllowedDomains(site.Hostname(), site.Host))
	q, err := linkscolly.NewQueue(2, c, target) // instead of queue.New(2, nil)
	if err != nil {
		log.Fatal(err)
	}
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { q.Add(e.Request, e.Attr("href")) })
	c.OnHTML("html", func(e *colly.HTMLElement) { q.Report(e.Request, e.DOM.Find(".post").Length()) })
	var fetched atomic.Int64
	c.OnScraped(func(r *colly.Response) {
		if fetched.Add(1) >= fetches {
			q.Stop()
		}
		fmt.Println(r.Request.URL)
	})
	if err := errors.Join(q.AddURL(start), q.Run(), q.Close()); err != nil {
		log.Fatal(err)
	}
}
