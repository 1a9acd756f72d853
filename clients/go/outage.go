package linkscore

import (
	"container/list"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// The rule of outages: how a crawl goes on while its server is away. Constants are those of docs/reference/clients.md, which all
// adapters share.
const (
	trust     = 16    // links taken from a bucket nobody had tried that halve what it is thought to be worth
	maxShapes = 4_096 // shapes that are remembered: far more than a site has templates
)

// outage has what was taken from each bucket, by which a bucket's last value is trusted while nobody renews it, and what
// became of the links of each coarse shape: a server that is away learns of no failure.
type outage struct {
	before map[string]int // until the server was lost
	since  map[string]int // since then
	odds   recent[fetches]
}

// fetches counts those that brought a page, and those that did not; of the first those before the outage, and of both
// those since it began.
type fetches struct{ fine, failed, before, since int }

func newOutage() outage {
	return outage{map[string]int{}, map[string]int{}, newRecent[fetches]()}
}

// answered notes what became of a fetch.
func (o *outage) answered(coarse string, failed, away bool) {
	count, _ := o.odds.get(coarse)
	if failed {
		count.failed++
	} else {
		count.fine++
	}
	if away {
		count.since++
	} else {
		count.before = count.fine
	}
	o.odds.set(coarse, count)
}

// took notes that a link was taken from a bucket.
func (o *outage) took(bucket string, away bool) {
	if away {
		o.since[bucket]++
	} else {
		o.before[bucket]++
	}
}

// worth is the last known value of a bucket; it fades by what was taken since the server was lost, the slower the more
// often it was tried before, and with the share of fetches of the shape of the link at its head that failed. What counts is
// the bucket or that shape, whichever was tried more: links of one kind may be in a bucket each.
func (o *outage) worth(bucket string, value float64, coarse string) float64 {
	count, _ := o.odds.get(coarse)
	half := float64(trust * (1 + max(o.before[bucket], count.before)))
	arrives := float64(1+count.fine) / float64(1+count.fine+count.failed)
	return value * arrives * half / (half + float64(max(o.since[bucket], count.since)))
}

// over ends an outage; false if nothing was taken in one.
func (o *outage) over() bool {
	was := len(o.since) > 0
	for bucket, taken := range o.since {
		o.before[bucket] += taken
	}
	clear(o.since)
	if was {
		o.odds.each(func(count fetches) fetches { return fetches{count.fine, count.failed, count.fine, 0} })
	}
	return was
}

// guesses remembers in which bucket the last new link of each shape of URL was: what a link found while the server
// is away is taken for.
type guesses struct{ buckets recent[string] }

func (g *guesses) note(address, bucket string) {
	for _, shape := range shapes(address) {
		g.buckets.set(shape, bucket)
	}
}

// bucket is that of the last new link of an address's shape, empty if there was none.
func (g *guesses) bucket(address string) string {
	for _, shape := range shapes(address) {
		if bucket, known := g.buckets.get(shape); known {
			return bucket
		}
	}
	return ""
}

// recent keeps something for each of the shapes that were set last, maxShapes of them.
type recent[T any] struct {
	byShape map[string]*list.Element
	order   *list.List // of entry, the one set last in front
}

type entry[T any] struct {
	shape string
	value T
}

func newRecent[T any]() recent[T] { return recent[T]{map[string]*list.Element{}, list.New()} }

func (r *recent[T]) get(shape string) (value T, known bool) {
	element := r.byShape[shape]
	if element == nil {
		return value, false
	}
	return element.Value.(entry[T]).value, true
}

func (r *recent[T]) set(shape string, value T) {
	if element := r.byShape[shape]; element != nil {
		element.Value = entry[T]{shape, value}
		r.order.MoveToFront(element)
		return
	}
	r.byShape[shape] = r.order.PushFront(entry[T]{shape, value})
	if r.order.Len() > maxShapes {
		delete(r.byShape, r.order.Remove(r.order.Back()).(entry[T]).shape)
	}
}

var (
	digits    = regexp.MustCompile(`[0-9]+`)
	extension = regexp.MustCompile(`\.[a-z]{2,5}$`)
)

// shapes writes a URL without what names one page: first fine, with runs of digits alike and only the keys of its query,
// then coarse, where the last part of the path, and every part with a digit, is any.
func shapes(address string) []string {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil
	}
	query, parts := keysOf(parsed.RawQuery), strings.Split(parsed.EscapedPath(), "/")
	fine := parsed.Host + digits.ReplaceAllString(strings.Join(parts, "/"), "#") + query
	last := true
	for i, part := range slices.Backward(parts) {
		switch {
		case part != "" && last:
			last = false
			parts[i] = "*" + extension.FindString(part)
		case digits.MatchString(part):
			parts[i] = "#"
		}
	}
	return []string{fine, "*" + parsed.Host + strings.Join(parts, "/") + query}
}

// each changes all that is kept.
func (r *recent[T]) each(change func(T) T) {
	for _, element := range r.byShape {
		was := element.Value.(entry[T])
		element.Value = entry[T]{was.shape, change(was.value)}
	}
}

// coarse is the coarse shape of a URL; that of what is none is the text itself.
func coarse(address string) string {
	if both := shapes(address); len(both) > 0 {
		return both[1]
	}
	return address
}

// keysOf is what is left of a query: its keys in order, each once.
func keysOf(query string) string {
	if query == "" {
		return ""
	}
	var keys []string
	for pair := range strings.SplitSeq(query, "&") {
		key, _, _ := strings.Cut(pair, "=")
		keys = append(keys, digits.ReplaceAllString(key, "#"))
	}
	slices.Sort(keys)
	return "?" + strings.Join(slices.Compact(keys), "&")
}
