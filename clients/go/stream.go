package linkscore

import (
	"context"
	"errors"
	"io"
	"iter"

	pb "linkscore.example/go/linkscorev1"
)

// Stream sends pages as they come and gives their answers in order; cheaper than a call for each page. It ends when
// pages is closed and all answers came, at the first error, or when the caller leaves the loop; what sends the pages
// should look at ctx too, which it is best to cancel then. There is no deadline but that of ctx.
func (c *Crawl) Stream(ctx context.Context, pages <-chan Page) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := c.client.Links.StreamPages(ctx)
		if err != nil {
			yield(Result{}, err)
			return
		}
		go c.sendAll(ctx, stream, pages)
		for {
			answer, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Result{}, err)
				return
			}
			if !yield(Result{Rows(answer.GetResult().GetLinks()), answer.GetResult()}, nil) {
				return
			}
		}
	}
}

// sendAll sends until there are no more pages; an error of sending is read by whoever receives.
func (c *Crawl) sendAll(ctx context.Context, stream pb.LinkScoringService_StreamPagesClient, pages <-chan Page) {
	crawl := c.Name // the server reads it from the first message
	for id := uint64(1); ; id++ {
		select {
		case page, more := <-pages:
			if !more {
				_ = stream.CloseSend()
				return
			}
			request := &pb.StreamPagesRequest{Crawl: crawl, RequestId: id, Page: page.message()}
			if stream.Send(request) != nil {
				return
			}
			crawl = ""
		case <-ctx.Done():
			return
		}
	}
}
