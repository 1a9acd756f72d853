package linkscore

import (
	"container/list"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The rule of outages, what buckets are worth and where new links belong while the server says nothing of either.
// Constants are those of docs/reference/clients.md, which all adapters share.
const (
	trust     = 16    // links taken from a bucket nobody had tried that halve what it is thought to be worth
	maxShapes = 4_096 // shapes that are remembered: far more than a site has templates
)

// outlook has where links of each shape were found last, what was taken from each bucket, and what became of the fetches of
// each coarse shape.
type outlook struct {
	mu      sync.Mutex
	away    bool
	found   recent[placing]
	fetches recent[*fetches]  // by coarse shape
	shapeOf map[string]string // the coarse shape of the link found last, by bucket
	before  map[string]int    // links taken until the server was lost
	since   map[string]int    // and since then
}

// placing is where a link of a shape was found last, and what its bucket was worth then.
type placing struct {
	bucket string
	value  float64
}

// fetches counts those that brought a page, and those that did not; of the first those before the outage, and links taken
// since it began.
type fetches struct{ fine, failed, before, since int }

func newOutlook() *outlook {
	return &outlook{
		found: newRecent[placing](), fetches: newRecent[*fetches](), shapeOf: map[string]string{},
		before: map[string]int{}, since: map[string]int{},
	}
}

// setAway notes the beginning of an outage, or its end.
func (o *outlook) setAway(away bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.away = away
	for bucket, taken := range o.since {
		o.before[bucket] += taken
	}
	clear(o.since)
	for _, element := range o.fetches.byShape {
		count := element.Value.(entry[*fetches]).value
		count.before, count.since = count.fine, 0
	}
}

// placed notes the bucket of a link that is new to the crawl: from others nothing is taken where they were found now.
func (o *outlook) placed(address, bucket string, value float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fine, coarse := shapes(address)
	o.found.set(fine, placing{bucket, value})
	o.found.set(coarse, placing{bucket, value})
	o.shapeOf[bucket] = coarse
}

// guess is the bucket where links like this one were found last, empty if there was none.
func (o *outlook) guess(address string) placing {
	o.mu.Lock()
	defer o.mu.Unlock()
	fine, coarse := shapes(address)
	if found := o.found.get(fine); found.bucket != "" {
		return found
	}
	return o.found.get(coarse)
}

// fetched notes what became of a fetch.
func (o *outlook) fetched(address string, failed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, coarse := shapes(address)
	count := o.count(coarse)
	if failed {
		count.failed++
	} else {
		count.fine++
	}
}

// took notes that a link was taken from a bucket.
func (o *outlook) took(bucket string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.away {
		o.before[bucket]++
		return
	}
	o.since[bucket]++
	if coarse := o.shapeOf[bucket]; coarse != "" {
		o.count(coarse).since++
	}
}

// worth is what is left of the last known value of a bucket: it fades by what was taken since the server was lost, the
// slower the more often it was tried before, and with the share of fetches of its shape that failed. What counts is the
// bucket or that shape, whichever was tried more: links of one kind may be in a bucket each.
func (o *outlook) worth(bucket string, value float64) float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.away {
		return value
	}
	count := o.fetches.get(o.shapeOf[bucket])
	if count == nil {
		count = &fetches{}
	}
	half := float64(trust * (1 + max(o.before[bucket], count.before)))
	arrives := float64(1+count.fine) / float64(1+count.fine+count.failed)
	return value * arrives * half / (half + float64(max(o.since[bucket], count.since)))
}

func (o *outlook) count(coarse string) *fetches {
	count := o.fetches.get(coarse)
	if count == nil {
		count = &fetches{}
	}
	o.fetches.set(coarse, count)
	return count
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

func (r *recent[T]) get(shape string) (value T) {
	if element := r.byShape[shape]; element != nil {
		return element.Value.(entry[T]).value
	}
	return value
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

// shapes writes a URL without what names one page: fine, with runs of digits alike and only the keys of its query, and
// coarse, where the last part of the path, and every part with a digit, is any.
func shapes(address string) (fine, coarse string) {
	parsed, err := url.Parse(address)
	if err != nil {
		return address, address
	}
	query, parts := keysOf(parsed.RawQuery), strings.Split(parsed.EscapedPath(), "/")
	fine = parsed.Host + digits.ReplaceAllString(strings.Join(parts, "/"), "#") + query
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
	return fine, "*" + parsed.Host + strings.Join(parts, "/") + query
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
