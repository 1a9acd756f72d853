// A crawler of your own in linkscore's order: go run . http://127.0.0.1:8800/
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"

	"linkscore.example/go"
)

const fetches = 200

func main() {
	start, target := os.Args[1], "localhost:7411"
	if len(os.Args) > 2 {
		target = os.Args[2]
	}
	client, err := linkscore.New(target, linkscore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	session, err := linkscore.NewSession(client, "own", linkscore.SessionOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	crawl(context.Background(), session, start)
}

func crawl(ctx context.Context, s *linkscore.Session, start string) {
	seen := map[string]bool{}
	s.AddSeed(start, nil)
	for item := s.Next(ctx); item != nil && len(seen) < fetches; item = s.Next(ctx) {
		seen[item.URL] = true
		page, err := fetch(item.URL)
		page.Ticket = item.Ticket
		if err != nil {
			s.Failed(ctx, item.URL, page.StatusCode, err.Error(), item.Ticket)
			s.Done(item)
			continue
		}
		page.Outlinks = links(item.URL, page.Body)
		scored, answered := s.Page(ctx, page)
		for i, link := range page.Outlinks {
			if !seen[link.URL] {
				s.Found(link.URL, scored[min(i, len(scored)):min(i+1, len(scored))], answered, nil)
			}
		}
		s.Reward(ctx, item.URL, item.Ticket, worth(page.Body))
		s.Done(item)
		fmt.Println(item.URL)
	}
}

func fetch(address string) (linkscore.Page, error) {
	page := linkscore.Page{URL: address}
	response, err := http.Get(address)
	if err != nil {
		return page, err
	}
	defer response.Body.Close()
	page.StatusCode, page.ContentType = response.StatusCode, response.Header.Get("Content-Type")
	if page.StatusCode >= 400 {
		return page, errors.New(response.Status)
	}
	page.Body, err = io.ReadAll(response.Body)
	return page, err
}

var href = regexp.MustCompile(`<a\s[^>]*href="([^"]+)"`)

// links returns the links of a page that stay on its host, in their order. A real crawler parses the HTML.
func links(address string, body []byte) (found []linkscore.Outlink) {
	base, err := url.Parse(address)
	if err != nil {
		return nil
	}
	for _, match := range href.FindAllSubmatch(body, -1) {
		if link, err := base.Parse(strings.SplitN(string(match[1]), "#", 2)[0]); err == nil && link.Host == base.Host {
			found = append(found, linkscore.Outlink{URL: link.String()})
		}
	}
	return found
}

// worth says what a page is worth to you, from 0 to 1: here whether it has posts.
func worth(body []byte) float64 {
	if strings.Contains(string(body), `class="post"`) {
		return 1
	}
	return 0
}
