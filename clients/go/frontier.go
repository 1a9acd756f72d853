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
	coarse string           // its shape, once it was asked for
	guess  bool             // it was found while the server was away: its place, if it has one, is a guess
}

// place is that of a URL in a bucket: its number among all places there were, and the ticket for the way it was found by.
type place struct {
	number int64
	ticket []byte
}

// Frontier is an in-memory queue of URLs that gives the best first: one first-in-first-out queue a bucket, and
// one for URLs the server does not know, which go before all others when they are seeds and after them when they
// are not. A URL is taken once. Call Done when a URL that was taken is answered: what is under way counts when the
// next is chosen. While the server is away links go on by the rule of outages (docs/reference/clients.md). Safe for concurrent
// use; it grows with the URLs that wait.
type Frontier struct {
	turn    sync.Mutex // of those who ask: each knows what those before it took
	mu      sync.Mutex
	crawl   *Crawl
	breaker *Breaker
	every   int

	values   map[string]float64
	queues   map[string][]*Item
	seeds    []*Item
	unknown  []*Item
	waiting  map[string]*Item
	guesses  guesses
	unscored map[string]*Item   // links that wait without a score
	guessed  map[string][]*Item // those of them that wait in a bucket, behind all that were scored
	outage   outage
	numbers  int64
	since    int

	live     map[string]int // links that wait in each bucket
	underWay map[string]int // links taken and not done, by bucket
	taken    int            // URLs taken and not done, whatever they were taken from
	left     map[string]int // what the server handed out and nobody took yet
	short    bool           // it handed out less than there was place for
	news     bool           // something is done since it was asked
}

// NewFrontier returns an empty frontier that asks RankBuckets before every n-th Next, 1 if n is less. The breaker
// may be shared with what sends the pages; nil makes one. A Session has all of that.
func NewFrontier(crawl *Crawl, n int, breaker *Breaker) *Frontier {
	if breaker == nil {
		breaker = NewBreaker(crawl.ping)
	}
	return &Frontier{
		crawl: crawl, breaker: breaker, every: max(1, n),
		values: map[string]float64{}, queues: map[string][]*Item{}, waiting: map[string]*Item{},
		live: map[string]int{}, underWay: map[string]int{}, guesses: guesses{newRecent[string]()}, unscored: map[string]*Item{},
		guessed: map[string][]*Item{}, outage: newOutage(),
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

// AddUnscored lets a link wait that was found while the server was away: in the bucket of the last new link of its
// shape that was scored, behind all that were scored, or, if there was none, behind all others; true if it is a guess. AddFound gives it
// its score when the server is back.
func (f *Frontier) AddUnscored(url string, value any) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting[url] != nil {
		return false
	}
	item := f.made(url, value)
	item.guess = true
	f.unscored[url] = item
	bucket := f.guesses.bucket(url)
	if bucket == "" {
		f.unknown = append(f.unknown, item)
		return false
	}
	f.place(item, bucket, nil)
	f.guessed[bucket] = append(f.guessed[bucket], item)
	return true
}

// Add lets a scored link wait in its bucket. One that waits already, found again elsewhere, waits there too.
func (f *Frontier) Add(link Link, value any) { f.AddFound([]Link{link}, value) }

// AddFound lets a link wait in each bucket that one page gave it: all of one URL.
func (f *Frontier) AddFound(links []Link, value any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	item := f.waiting[links[0].URL]
	if item == nil {
		item = f.made(links[0].URL, value)
	}
	f.score(item, links)
}

// rescore gives a link that waits without a score its own; false if it does not wait without one.
func (f *Frontier) rescore(links []Link) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	item := f.unscored[links[0].URL]
	if item == nil {
		return false
	}
	f.score(item, links)
	return true
}

func (f *Frontier) score(item *Item, links []Link) {
	if item.guess {
		f.settled(item)
		f.leavePlaces(item)
	}
	if len(item.places) == 0 { // one found again is not taken from where it was found now, and teaches nothing
		best := slices.MaxFunc(links, func(a, b Link) int { return cmp.Compare(a.Score, b.Score) })
		f.guesses.note(item.URL, best.Bucket)
	}
	for _, link := range links {
		if _, known := f.values[link.Bucket]; !known {
			f.values[link.Bucket] = link.BucketValue
		}
		if _, waits := item.places[link.Bucket]; !waits && len(item.places) < maxPlaces {
			f.place(item, link.Bucket, link.Ticket)
			f.queues[link.Bucket] = append(f.queues[link.Bucket], item)
		}
	}
}

func (f *Frontier) place(item *Item, bucket string, ticket []byte) {
	f.numbers++
	item.places[bucket] = place{f.numbers, ticket}
	f.live[bucket]++
}

// countUnscored says how many links wait without a score.
func (f *Frontier) countUnscored() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.unscored)
}

// someUnscored names links that wait without a score.
func (f *Frontier) someUnscored(most int) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	urls := make([]string, 0, min(most, len(f.unscored)))
	for url := range f.unscored {
		if len(urls) == most {
			break
		}
		urls = append(urls, url)
	}
	return urls
}

// settle notes that the server was asked about links: those that wait on without a score will have none, and wait where
// they were guessed to.
func (f *Frontier) settle(urls []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, url := range urls {
		delete(f.unscored, url)
	}
}

func (f *Frontier) settled(item *Item) {
	item.guess = false
	delete(f.unscored, item.URL)
}

// bestBucket is that which is worth most of those that are not empty.
func (f *Frontier) bestBucket() (name string, value float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for bucket := range f.live {
		if name == "" || f.values[bucket] > value {
			name, value = bucket, f.values[bucket]
		}
	}
	return name, value
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
		f.outage.took(item.from, !f.breaker.Allows())
	}
	return item
}

// hasSeeds says whether a start page waits.
func (f *Frontier) hasSeeds() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.seeds) > 0
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
	if !f.breaker.Allows() {
		f.handedOut(nil, false)
		return
	}
	places, ask := f.due()
	if !ask {
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
	if f.since++; f.outage.over() {
		f.since = f.every // the values are old
	}
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
	var most float64
	for bucket := range f.live {
		first := f.first(bucket)
		if !mayGo(bucket) {
			continue
		}
		if value := f.worth(bucket, first); head == nil || value > most ||
			(value == most && f.number(bucket) < f.number(chosen)) {
			chosen, head, most = bucket, first, value
		}
	}
	if head == nil {
		return nil
	}
	head.from, head.Ticket = chosen, head.places[chosen].ticket
	f.underWay[chosen]++
	if f.left[chosen] > 0 {
		f.left[chosen]--
	}
	f.leave(head)
	return head
}

// worth is the value of a bucket: what the server said last, or while it is away what that is worth still.
func (f *Frontier) worth(bucket string, first *Item) float64 {
	if f.breaker.Allows() {
		return f.values[bucket]
	}
	if first.coarse == "" {
		first.coarse = coarse(first.URL)
	}
	return f.outage.worth(bucket, f.values[bucket], first.coarse)
}

// answered notes whether a fetch brought a page.
func (f *Frontier) answered(url string, failed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outage.answered(coarse(url), failed, !f.breaker.Allows())
}

// number is that of the place at the head of a bucket: of buckets worth the same, one or several, it makes no difference.
func (f *Frontier) number(bucket string) int64 {
	return f.first(bucket).places[bucket].number
}

// first is the link to take from a bucket that is not empty: scored ones go before guesses.
func (f *Frontier) first(bucket string) *Item {
	if item := head(f.queues, bucket, func(i *Item) bool { return i.waitsIn(bucket) && !i.guess }); item != nil {
		return item
	}
	return head(f.guessed, bucket, func(i *Item) bool { return i.waitsIn(bucket) && i.guess })
}

// head drops what does not wait in a queue any more, and returns what is left there.
func head(queues map[string][]*Item, bucket string, waits func(*Item) bool) *Item {
	queue := queues[bucket]
	for len(queue) > 0 && !waits(queue[0]) {
		queue[0] = nil
		queue = queue[1:]
	}
	if len(queue) == 0 {
		delete(queues, bucket)
		return nil
	}
	queues[bucket] = queue
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

// waitsIn says whether an item still waits in a bucket: it was not taken, and its place there was no guess that was wrong.
func (i *Item) waitsIn(bucket string) bool {
	_, has := i.places[bucket]
	return has && !i.taken
}

func (f *Frontier) leavePlaces(item *Item) {
	for bucket := range item.places {
		if f.live[bucket]--; f.live[bucket] <= 0 {
			delete(f.live, bucket)
		}
	}
	item.places = map[string]place{}
}

func (f *Frontier) leave(item *Item) {
	item.taken = true
	f.settled(item)
	f.leavePlaces(item)
	if f.waiting[item.URL] == item {
		delete(f.waiting, item.URL)
	}
}

func (f *Frontier) made(url string, value any) *Item {
	item := &Item{URL: url, Value: value, places: map[string]place{}}
	f.waiting[url] = item
	return item
}
