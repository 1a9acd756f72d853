package linkscore

import (
	"context"
	"slices"
	"sync"
)

// maxPlaces is how many buckets a URL that was found several times may wait in at once.
const maxPlaces = 4

// Item is a URL that waits to be fetched.
type Item struct {
	URL    string
	Ticket []byte
	// Value is what the caller keeps with the URL.
	Value any

	number int64
	taken  bool
	places []string
}

// Frontier is an in-memory queue of URLs that gives the best first: one first-in-first-out queue a bucket, and
// one for URLs the server does not know, which go before all others when they are seeds and after them when they
// are not. A URL is taken once. Safe for concurrent use; it grows with the URLs that wait.
type Frontier struct {
	mu      sync.Mutex
	crawl   *Crawl
	breaker *Breaker
	every   int

	values  map[string]float64
	queues  map[string][]*Item
	seeds   []*Item
	unknown []*Item
	waiting map[string]*Item
	numbers int64
	since   int
}

// NewFrontier returns an empty frontier that asks RankBuckets before every n-th Next, 1 if n is less. The breaker
// may be shared with what sends the pages; nil makes one.
func NewFrontier(crawl *Crawl, n int, breaker *Breaker) *Frontier {
	if breaker == nil {
		breaker = &Breaker{}
	}
	return &Frontier{
		crawl: crawl, breaker: breaker, every: max(1, n),
		values: map[string]float64{}, queues: map[string][]*Item{}, waiting: map[string]*Item{},
	}
}

// AddSeed lets a URL wait ahead of every scored one.
func (f *Frontier) AddSeed(url string, value any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seeds = append(f.seeds, f.made(url, nil, value))
}

// AddUnknown lets a URL that the server said nothing about wait behind every scored one.
func (f *Frontier) AddUnknown(url string, value any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unknown = append(f.unknown, f.made(url, nil, value))
}

// Add lets a scored link wait in its bucket. One that waits already, found again elsewhere, waits there too.
func (f *Frontier) Add(link Link, value any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	item := f.waiting[link.URL]
	if item == nil {
		item = f.made(link.URL, link.Ticket, value)
	}
	if len(item.places) >= maxPlaces || slices.Contains(item.places, link.Bucket) {
		return
	}
	item.places = append(item.places, link.Bucket)
	f.queues[link.Bucket] = append(f.queues[link.Bucket], item)
	if _, known := f.values[link.Bucket]; !known {
		f.values[link.Bucket] = link.BucketValue
	}
}

// Len counts the URLs that wait.
func (f *Frontier) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.waiting)
}

// Next takes the URL to fetch now, nil if none waits. While the server is away the last order known is kept.
func (f *Frontier) Next(ctx context.Context) *Item {
	f.rank(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if item := f.take(&f.seeds); item != nil {
		return item
	}
	if item := f.best(); item != nil {
		return item
	}
	return f.take(&f.unknown)
}

// rank asks for the order of the buckets, outside the lock: links may be added meanwhile.
func (f *Frontier) rank(ctx context.Context) {
	buckets := f.due()
	if len(buckets) == 0 || !f.breaker.Allows() {
		return
	}
	values, err := f.crawl.RankBuckets(ctx, buckets)
	f.breaker.Done(err)
	f.mu.Lock()
	defer f.mu.Unlock()
	for bucket, value := range values {
		f.values[bucket] = value
	}
}

// due names the buckets that are not empty if it is time to ask about them.
func (f *Frontier) due() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.since++; f.since < f.every || len(f.queues) < 2 {
		return nil
	}
	f.since = 0
	buckets := make([]string, 0, len(f.queues))
	for bucket := range f.queues {
		buckets = append(buckets, bucket)
	}
	slices.Sort(buckets)
	return buckets
}

// best takes the oldest URL of the buckets that are worth most.
func (f *Frontier) best() *Item {
	var chosen string
	var head *Item
	for bucket := range f.queues {
		first := f.first(bucket)
		if first == nil {
			delete(f.queues, bucket)
			continue
		}
		if head == nil || f.values[bucket] > f.values[chosen] ||
			(f.values[bucket] == f.values[chosen] && first.number < head.number) {
			chosen, head = bucket, first
		}
	}
	if head != nil {
		f.leave(head)
	}
	return head
}

// first drops what was taken elsewhere from the head of a bucket and returns what is left there.
func (f *Frontier) first(bucket string) *Item {
	queue := f.queues[bucket]
	for len(queue) > 0 && queue[0].taken {
		queue[0] = nil
		queue = queue[1:]
	}
	f.queues[bucket] = queue
	if len(queue) == 0 {
		return nil
	}
	return queue[0]
}

func (f *Frontier) take(queue *[]*Item) *Item {
	for len(*queue) > 0 {
		item := (*queue)[0]
		*queue = (*queue)[1:]
		if !item.taken {
			f.leave(item)
			return item
		}
	}
	return nil
}

func (f *Frontier) leave(item *Item) {
	item.taken = true
	if f.waiting[item.URL] == item {
		delete(f.waiting, item.URL)
	}
}

func (f *Frontier) made(url string, ticket []byte, value any) *Item {
	f.numbers++
	item := &Item{URL: url, Ticket: ticket, Value: value, number: f.numbers}
	f.waiting[url] = item
	return item
}
