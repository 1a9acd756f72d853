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
	case pb.SkipReason_SKIP_REASON_UNSPECIFIED, pb.SkipReason_SKIP_REASON_CRAWL_BUDGET, pb.SkipReason_SKIP_REASON_SITE_STOPPED:
		return false
	}
	return true
}

// Rows reads the columns of an answer as one Link a row, in their order.
func Rows(links *pb.LinkScores) []Link {
	rows := make([]Link, len(links.GetScores()))
	for i, score := range links.GetScores() {
		row := Link{Score: score, InScope: true, Status: links.GetStatuses()[uint32(i)]}
		if i < len(links.GetUrls()) {
			row.URL = links.GetUrls()[i]
		}
		if i < len(links.GetBuckets()) {
			row.Bucket = links.GetBucketNames()[links.GetBuckets()[i]]
			row.BucketValue = links.GetBucketValues()[links.GetBuckets()[i]]
		}
		if i < len(links.GetTickets()) {
			row.Ticket = links.GetTicketValues()[links.GetTickets()[i]]
		}
		if i < len(links.GetVerdicts()) {
			row.Verdict = links.GetVerdicts()[i]
		}
		if i < len(links.GetSkipReasons()) {
			row.SkipReason = links.GetSkipReasons()[i]
		}
		if i < len(links.GetInScope()) {
			row.InScope = links.GetInScope()[i]
		}
		rows[i] = row
	}
	return rows
}

// odd is an answer that cannot be read.
func odd(why string) error {
	return &Error{Code: codes.Internal, Message: "the server's answer cannot be read: " + why}
}

// readable is an error if columns of an answer do not fit, or have numbers that are none.
func readable(links *pb.LinkScores) error {
	n := len(links.GetScores())
	lengths := []int{
		len(links.GetUrls()), len(links.GetBuckets()), len(links.GetTickets()), len(links.GetVerdicts()), len(links.GetSkipReasons()),
		len(links.GetInScope()),
	}
	for _, length := range lengths {
		if length != 0 && length != n {
			return odd("a column has another length than scores")
		}
	}
	beyond := func(most int) func(uint32) bool { return func(at uint32) bool { return int(at) >= most } }
	if len(links.GetBucketValues()) != len(links.GetBucketNames()) ||
		slices.ContainsFunc(links.GetBuckets(), beyond(len(links.GetBucketNames()))) ||
		slices.ContainsFunc(links.GetTickets(), beyond(len(links.GetTicketValues()))) {
		return odd("a bucket or ticket is not there")
	}
	if !finite(links.GetScores()) || !finite(links.GetBucketValues()) {
		return odd("a number is not finite")
	}
	return nil
}

// orderly is an error if an order of buckets is none of those asked about.
func orderly(answer *pb.RankBucketsResponse, asked int) error {
	order, urls := answer.GetOrder(), len(answer.GetUrls())
	if len(answer.GetValues()) != len(order) || (urls != 0 && urls != len(order)) {
		return odd("values or urls have another length than order")
	}
	if slices.ContainsFunc(order, func(at uint32) bool { return int(at) >= asked }) {
		return odd("order names a bucket that was not asked about")
	}
	if !finite(answer.GetValues()) {
		return odd("a value is not finite")
	}
	return nil
}

func finite(numbers []float64) bool {
	return !slices.ContainsFunc(numbers, func(n float64) bool { return math.IsNaN(n) || math.IsInf(n, 0) })
}
