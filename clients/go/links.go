package linkscore

import (
	"math"
	"slices"

	"google.golang.org/grpc/codes"

	pb "linkscore.example/go/linkscorev1"
)

// Link is one scored link.
type Link struct {
	// URL is absolute, without fragment; what to request.
	URL string
	// Score is in [0, 1], higher first.
	Score float64
	// Bucket names the group whose value moves together.
	Bucket string
	// BucketValue is what RankBuckets would answer for Bucket now.
	BucketValue float64
	// Ticket is at most 64 opaque bytes: keep them with the URL.
	Ticket  []byte
	Verdict pb.Verdict
	// SkipReason says which setting of the crawl makes the link one to skip; unspecified if none does.
	SkipReason pb.SkipReason
	// InScope is false for a link that leaves the crawl.
	InScope bool
	// Status says why the link could not be used; nil if it could.
	Status *pb.ItemStatus
}

// Usable says whether the link was scored.
func (l Link) Usable() bool { return l.Status.GetCode() != pb.ItemCode_ITEM_CODE_INVALID }

// Dropped says whether a setting of the crawl forbids the link for good, as one that leads to a copy. One whose crawl or
// site has stopped waits for more budget.
func (l Link) Dropped() bool {
	switch l.SkipReason {
	case pb.SkipReason_SKIP_REASON_TRAP, pb.SkipReason_SKIP_REASON_RESPECT, pb.SkipReason_SKIP_REASON_COPY:
		return true
	}
	return false
}

// Rows reads the columns of an answer as one Link a row, in their order.
func Rows(links *pb.LinkScores) []Link {
	rows := make([]Link, len(links.GetScores()))
	for i, score := range links.GetScores() {
		row := Link{Score: score, InScope: true, Status: links.GetStatuses()[uint32(i)]}
		row.URL, _ = at(links.GetUrls(), i)
		row.Verdict, _ = at(links.GetVerdicts(), i)
		row.SkipReason, _ = at(links.GetSkipReasons(), i)
		if bucket, has := at(links.GetBuckets(), i); has {
			row.Bucket, row.BucketValue = links.GetBucketNames()[bucket], links.GetBucketValues()[bucket]
		}
		if ticket, has := at(links.GetTickets(), i); has {
			row.Ticket = links.GetTicketValues()[ticket]
		}
		if inScope, has := at(links.GetInScope(), i); has {
			row.InScope = inScope
		}
		rows[i] = row
	}
	return rows
}

// at is a row of a column, which may be left out.
func at[T any](column []T, i int) (value T, has bool) {
	if i < len(column) {
		return column[i], true
	}
	return value, false
}

// odd is an answer that cannot be read.
func odd(why string) error {
	return &Error{Code: codes.Internal, Message: "the server's answer cannot be read: " + why}
}

// readable is an error if columns of an answer do not fit, or have numbers that are none.
func readable(links *pb.LinkScores) error {
	n := len(links.GetScores())
	for _, length := range []int{
		len(links.GetUrls()), len(links.GetBuckets()), len(links.GetTickets()), len(links.GetVerdicts()), len(links.GetSkipReasons()),
		len(links.GetInScope()),
	} {
		if length != 0 && length != n {
			return odd("a column has another length than scores")
		}
	}
	buckets := len(links.GetBucketNames())
	if len(links.GetBucketValues()) != buckets || beyond(links.GetBuckets(), buckets) || beyond(links.GetTickets(), len(links.GetTicketValues())) {
		return odd("a bucket or ticket is not there")
	}
	if slices.ContainsFunc(links.GetTicketValues(), func(ticket []byte) bool { return len(ticket) > 64 }) {
		return odd("a ticket has more than 64 bytes")
	}
	if !finite(links.GetScores()) || !finite(links.GetBucketValues()) {
		return odd("a number is not finite")
	}
	return nil
}

// orderly is an error if an order of buckets is none of those asked about.
func orderly(answer *pb.RankBucketsResponse, asked int) error {
	rows, urls := len(answer.GetOrder()), len(answer.GetUrls())
	if len(answer.GetValues()) != rows || (urls != 0 && urls != rows) || beyond(answer.GetOrder(), asked) || !finite(answer.GetValues()) {
		return odd("its order is none of the buckets asked about")
	}
	return nil
}

func beyond(places []uint32, most int) bool {
	return slices.ContainsFunc(places, func(at uint32) bool { return int(at) >= most })
}

func finite(numbers []float64) bool {
	return !slices.ContainsFunc(numbers, func(n float64) bool { return math.IsNaN(n) || math.IsInf(n, 0) })
}

// ByURL groups the links of an answer that can be used by their URL, which key writes as a crawler does.
func ByURL(links []Link, key func(url string) string) map[string][]Link {
	found := map[string][]Link{}
	for _, link := range links {
		if link.Usable() && link.URL != "" {
			link.URL = key(link.URL)
			found[link.URL] = append(found[link.URL], link)
		}
	}
	return found
}
