package linkscore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
)

// maxPlaces is how many buckets a URL that was found several times may wait in at once.
const maxPlaces = 4

// Item is a URL that waits to be fetched.
type Item struct {
	URL string
	// Ticket is that of the bucket the URL was taken from.
	Ticket []byte
	// Value is what the caller keeps with the URL.
	Value any

	taken  bool
	places map[string]place // of each bucket it waits in
	from   string           // bucket it was taken from, empty if from none
}

// place is that of a URL in a bucket: its number among all places there were, and the ticket for the way it was found by.
type place struct {
	number int64
	ticket []byte
}

// Frontier is an in-memory queue of URLs that gives the best first: one first-in-first-out queue a bucket, and
// one for URLs the server does not know, which go before all others when they are seeds and after them when they
// are not. A URL is taken once. Call Done when a URL that was taken is answered: what is under way counts when the
// next is chosen. Safe for concurrent use; it grows with the URLs that wait.
type Frontier struct {
	turn    sync.Mutex // of those who ask: each knows what those before it took
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

	live     map[string]int // links that wait in each bucket
	underWay map[string]int // links taken and not done, by bucket
	taken    int            // URLs taken and not done, whatever they were taken from
	left     map[string]int // what the server handed out and nobody took yet
	short    bool           // it handed out less than there was place for
	news     bool           // something is done since it was asked
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
		live: map[string]int{}, underWay: map[string]int{},
	}
}

// AddSeed lets a URL wait ahead of every scored one.
func (f *Frontier) AddSeed(url string, value any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seeds = append(f.seeds, f.made(url, value))
}

// AddUnknown lets a URL that the server said nothing about wait behind every scored one.
func (f *Frontier) AddUnknown(url string, value any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unknown = append(f.unknown, f.made(url, value))
}

// Add lets a scored link wait in its bucket. One that waits already, found again elsewhere, waits there too.
func (f *Frontier) Add(link Link, value any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	item := f.waiting[link.URL]
	if item == nil {
		item = f.made(link.URL, value)
	}
	if _, waits := item.places[link.Bucket]; waits || len(item.places) >= maxPlaces {
		return
	}
	f.numbers++
	item.places[link.Bucket] = place{f.numbers, link.Ticket}
	f.queues[link.Bucket] = append(f.queues[link.Bucket], item)
	f.live[link.Bucket]++
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

// Next takes the URL to fetch now. It is nil if none waits, or if none should be fetched before the next answer; then
// some URL that was taken is not done. While the server is away the last order known is kept.
func (f *Frontier) Next(ctx context.Context) *Item {
	f.turn.Lock()
	defer f.turn.Unlock()
	f.rank(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	item := f.take(&f.seeds)
	if item == nil {
		item = f.best(func(bucket string) bool { return f.left[bucket] > 0 })
	}
	if item == nil && f.short && f.taken > 0 {
		return nil
	}
	if item == nil {
		item = f.best(func(string) bool { return true })
	}
	if item == nil {
		item = f.take(&f.unknown)
	}
	if item != nil {
		f.taken++
	}
	return item
}

// Done notes that what became of a URL that was taken is known to the server, or never will be.
func (f *Frontier) Done(item *Item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.news = true
	f.taken--
	if f.underWay[item.from]--; f.underWay[item.from] <= 0 {
		delete(f.underWay, item.from)
	}
}

// rank asks which buckets come next, outside the lock: links may be added meanwhile.
func (f *Frontier) rank(ctx context.Context) {
	places, ask := f.due()
	if !ask {
		return
	}
	if !f.breaker.Allows() {
		f.handedOut(nil, false)
		return
	}
	values, urls, err := f.crawl.PlanBuckets(ctx, places)
	f.breaker.Done(err)
	f.mu.Lock()
	for bucket, value := range values {
		f.values[bucket] = value
	}
	f.mu.Unlock()
	given, waits := 0, 0
	for _, n := range urls {
		given += n
	}
	for _, n := range places.Waiting {
		waits += int(n)
	}
	f.handedOut(urls, urls != nil && given < min(places.N, waits))
}

func (f *Frontier) handedOut(urls map[string]int, short bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.short = urls, short
}

// due says what is to be asked, if it is time: every few fetches, and after each answer while places are empty.
func (f *Frontier) due() (Places, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.since++
	if (f.since < f.every && !f.short) || (f.short && !f.news && f.taken > 0) || len(f.live) == 0 {
		return Places{}, false
	}
	f.since, f.news = 0, false
	places := Places{InFlight: maps.Clone(f.underWay), N: f.every}
	for bucket := range f.live {
		places.Buckets = append(places.Buckets, bucket)
	}
	slices.SortFunc(places.Buckets, func(a, b string) int { return cmp.Compare(f.number(a), f.number(b)) })
	for _, bucket := range places.Buckets {
		places.Waiting = append(places.Waiting, uint32(f.live[bucket]))
	}
	return places, true
}

// best takes the URL that came first into the buckets that are worth most among those that may go.
func (f *Frontier) best(mayGo func(bucket string) bool) *Item {
	var chosen string
	var head *Item
	for bucket := range f.queues {
		first := f.first(bucket)
		if first == nil {
			delete(f.queues, bucket)
			continue
		}
		if !mayGo(bucket) {
			continue
		}
		if head == nil || f.values[bucket] > f.values[chosen] ||
			(f.values[bucket] == f.values[chosen] && f.number(bucket) < f.number(chosen)) {
			chosen, head = bucket, first
		}
	}
	if head != nil {
		head.from, head.Ticket = chosen, head.places[chosen].ticket
		f.underWay[chosen]++
		if f.left[chosen] > 0 {
			f.left[chosen]--
		}
		f.leave(head)
	}
	return head
}

// number is that of the place at the head of a bucket: of buckets worth the same, one or several, it makes no difference.
func (f *Frontier) number(bucket string) int64 {
	return f.first(bucket).places[bucket].number
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
	for bucket := range item.places {
		if f.live[bucket]--; f.live[bucket] <= 0 {
			delete(f.live, bucket)
		}
	}
	if f.waiting[item.URL] == item {
		delete(f.waiting, item.URL)
	}
}

func (f *Frontier) made(url string, value any) *Item {
	item := &Item{URL: url, Value: value, places: map[string]place{}}
	f.waiting[url] = item
	return item
}
