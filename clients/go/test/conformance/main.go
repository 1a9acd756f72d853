// Command conformance drives the Go client through the scenarios every client passes:
//
//	python -m linkscore_lab.conformance go run ./conformance
//
// It reads one JSON command a line and answers with one; the lab's package conformance says which there are.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc/codes"

	linkscore "linkscore.example/go"
	pb "linkscore.example/go/linkscorev1"
)

// maxLine bounds a command; bodies that are large are told by their size.
const maxLine = 1 << 20

type command struct {
	Call   string `json:"call"`
	Target string `json:"target"`
	Token  string `json:"token"`
	File   string `json:"token_file"`
	CA     string `json:"ca"`
	Cert   string `json:"cert"`
	Key    string `json:"key"`

	TimeoutMs     int `json:"timeout_ms"`
	CancelAfterMs int `json:"cancel_after_ms"`

	Crawl   string   `json:"crawl"`
	Policy  string   `json:"policy"`
	Pages   []page   `json:"pages"`
	Buckets []string `json:"buckets"`
	Worth   float64  `json:"worth"`
	Error   string   `json:"error"`
	page
}

type page struct {
	URL       string  `json:"url"`
	FinalURL  string  `json:"final_url"`
	Status    int     `json:"status"`
	Body      *string `json:"body"`
	BodyBytes int     `json:"body_bytes"`
	Ticket    string  `json:"ticket"`
}

func main() {
	lines, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	lines.Buffer(nil, maxLine)
	d := &driver{}
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		answer, err := d.carryOut(c)
		if err == nil {
			err = out.Encode(map[string]any{"ok": answer})
		} else {
			err = out.Encode(map[string]any{"error": told(err)})
		}
		if err != nil {
			os.Exit(1)
		}
	}
}

type driver struct{ client *linkscore.Client }

// carryOut makes the call that a command names and returns what is to be told of the answer.
func (d *driver) carryOut(c command) (any, error) {
	if c.Call == "connect" || c.Call == "close" {
		if d.client != nil {
			_ = d.client.Close()
		}
		if c.Call == "close" {
			d.client = nil
			return struct{}{}, nil
		}
		var err error
		d.client, err = connected(c)
		return struct{}{}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if c.TimeoutMs > 0 {
		ctx, cancel = context.WithTimeout(ctx, ms(c.TimeoutMs))
		defer cancel()
	}
	if c.CancelAfterMs > 0 {
		time.AfterFunc(ms(c.CancelAfterMs), cancel)
	}
	return d.call(ctx, c, d.client.Crawl(c.Crawl))
}

func (d *driver) call(ctx context.Context, c command, crawl *linkscore.Crawl) (any, error) {
	ticket := decoded(c.Ticket)
	none := struct{}{}
	switch c.Call {
	case "ensure":
		config := &pb.Crawl{}
		if c.Policy != "" {
			config.Policy = linkscore.Policy(c.Policy)
		}
		_, err := d.client.EnsureCrawl(ctx, c.Crawl, config)
		return none, err
	case "ingest":
		results, err := crawl.Ingest(ctx, pages(c.Pages)...)
		return map[string]any{"links": linksOf(results)}, err
	case "failed":
		return none, crawl.Failed(ctx, c.URL, c.Status, c.Error, ticket)
	case "rank":
		values, _, err := crawl.RankBuckets(ctx, &pb.RankBucketsRequest{Buckets: c.Buckets})
		return map[string]any{"values": values}, err
	case "reward":
		return none, crawl.Reward(ctx, c.URL, ticket, c.Worth)
	}
	return nil, fmt.Errorf("no call %q", c.Call)
}

func connected(c command) (*linkscore.Client, error) {
	set := linkscore.Options{Timeout: ms(c.TimeoutMs), Token: c.Token, TokenFile: c.File, CAFile: c.CA}
	if c.Cert != "" { // the server wants to know the client too
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, err
		}
		set.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	}
	return linkscore.New(c.Target, set)
}

func pages(said []page) []linkscore.Page {
	made := make([]linkscore.Page, len(said))
	for i, p := range said {
		made[i] = linkscore.Page{
			URL: p.URL, FinalURL: p.FinalURL, StatusCode: p.Status, Ticket: decoded(p.Ticket),
		}
		if p.BodyBytes > 0 {
			made[i].Body = bytes.Repeat([]byte("x"), p.BodyBytes)
		} else if p.Body != nil {
			made[i].Body = []byte(*p.Body)
		}
	}
	return made
}

func linksOf(results []linkscore.Result) [][]map[string]any {
	told := make([][]map[string]any, len(results))
	for i, result := range results {
		told[i] = rows(result.Links)
	}
	return told
}

func rows(links []linkscore.Link) []map[string]any {
	told := make([]map[string]any, len(links))
	for i, link := range links {
		told[i] = map[string]any{
			"url": link.URL, "score": link.Score, "bucket": link.Bucket, "value": link.BucketValue,
			"ticket": base64.RawURLEncoding.EncodeToString(link.Ticket), "usable": link.Usable(), "in_scope": link.InScope,
		}
	}
	return told
}

func decoded(text string) []byte {
	ticket, _ := base64.RawURLEncoding.DecodeString(text)
	return ticket
}

func told(err error) map[string]any {
	said := &linkscore.Error{Code: codes.Unknown, Message: err.Error()}
	errors.As(err, &said)
	violations := []map[string]string{}
	for _, v := range said.Violations {
		violations = append(violations, map[string]string{"field": v.Field, "description": v.Description})
	}
	facts := said.Metadata
	if facts == nil {
		facts = map[string]string{}
	}
	return map[string]any{
		"code": said.Code, "reason": said.Reason, "retry_after_ms": said.RetryAfter.Milliseconds(),
		"violations": violations, "metadata": facts,
	}
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }
