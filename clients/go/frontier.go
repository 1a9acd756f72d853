package linkscore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	pb "linkscore.example/go/linkscorev1"
)

// Item is a URL that waits to be fetched.
type Item struct {
	URL string
	// Ticket came with the link in the bucket the URL waits in.
	Ticket []byte
	// Value is what the caller keeps with the URL.
	Value any

	in     *bucket // nil once it was taken
	from   string  // name of the bucket it was taken from
	number int64   // among all that came into buckets
	guess  bool    // it was found while the server was away: where it waits is a guess
}

// bucket has URLs in the order they came; some may have left by now.
type bucket struct {
	name    string // empty of URLs the server does not know
	value   float64
	waiting int
	queue   []*Item
}

// head is the URL to take first; the bucket is not empty.
func (b *bucket) head() *Item {
	for b.queue[0].in != b {
		b.queue = b.queue[1:]
	}
	return b.queue[0]
}

// Frontier is an in-memory queue of URLs that gives the best first: seeds, then one first-in-first-out queue a bucket, then
// URLs the server does not know. A URL is taken once. Call Done when a URL that was taken is answered: what is under way
// counts when the next is chosen. While the server is away links go on by the rule of outages (docs/reference/clients.md).
// Safe for concurrent use. A Session has one.
type Frontier struct {
	plan func(context.Context, *pb.RankBucketsRequest) (values map[string]float64, urls map[string]int, err error)
	turn sync.Mutex // of those who ask: each knows what those before it took
	mu   sync.Mutex

	outlook        *outlook
	buckets        map[string]*bucket // those that are not empty
	seeds, unknown *bucket
	waiting        map[string]*Item
	numbers        int64
	inFlight       map[string]int // links taken and not done, by bucket
	taken          int            // URLs taken and not done, whatever they were taken from
	granted        string         // the bucket that the server says to take from now
	short          bool           // it granted none, and that is how it is until something is done
}

func newFrontier() *Frontier {
	return &Frontier{
		outlook: newOutlook(), buckets: map[string]*bucket{}, seeds: &bucket{}, unknown: &bucket{},
		waiting: map[string]*Item{}, inFlight: map[string]int{},
	}
}

// AddSeed lets a URL wait ahead of every scored one.
func (f *Frontier) AddSeed(url string, value any) { f.addTo(f.seeds, url, value) }

// AddUnknown lets a URL that the server said nothing about wait behind every scored one.
func (f *Frontier) AddUnknown(url string, value any) { f.addTo(f.unknown, url, value) }

func (f *Frontier) addTo(into *bucket, url string, value any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting[url] == nil {
		f.place(f.made(url, value), into)
	}
}

// AddUnscored lets a link wait that was found while the server was away: where new links of its shape were found last, or,
// if there was none, behind all others; true if it is a guess. It gets its score with the answer to its page.
func (f *Frontier) AddUnscored(url string, value any) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting[url] != nil {
		return false
	}
	item, like, into := f.made(url, value), f.outlook.shape(url), f.unknown
	item.guess = true
	if like.bucket != "" {
		into = f.bucket(like.bucket, like.value)
	}
	f.place(item, into)
	return into != f.unknown
}

// AddFound lets a link wait in the best of the buckets that one page gave it. One that waits, found again, moves to a bucket
// that is worth more.
func (f *Frontier) AddFound(links []Link, value any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.add(links, value)
}

// rescore gives a link that waits without a score its own; false if it does not wait without one.
func (f *Frontier) rescore(links []Link) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if item := f.waiting[links[0].URL]; item == nil || !item.guess {
		return false
	}
	f.add(links, nil)
	return true
}

func (f *Frontier) add(links []Link, value any) {
	best := slices.MaxFunc(links, func(a, b Link) int { return cmp.Compare(a.Score, b.Score) })
	worth, item := best.BucketValue, f.waiting[best.URL]
	if known := f.buckets[best.Bucket]; known != nil {
		worth = known.value
	}
	switch {
	case item == nil:
		item = f.made(best.URL, value)
	case !item.guess && worth <= item.in.value:
		return
	}
	if item.in == nil || item.guess { // from where one found again was found now nothing is taken: it teaches nothing
		f.outlook.placed(best.URL, best.Bucket, best.BucketValue)
	}
	f.leave(item)
	item.guess, item.Ticket = false, best.Ticket
	f.place(item, f.bucket(best.Bucket, worth))
}

func (f *Frontier) bucket(name string, value float64) *bucket {
	if f.buckets[name] == nil {
		f.buckets[name] = &bucket{name: name, value: value}
	}
	return f.buckets[name]
}

func (f *Frontier) place(item *Item, into *bucket) {
	f.numbers++
	item.number, item.in = f.numbers, into
	into.waiting++
	into.queue = append(into.queue, item)
}

// noted tells the outlook something.
func (f *Frontier) noted(tell func(*outlook)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	tell(f.outlook)
}

func (f *Frontier) bestBucket() (name string, value float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if best := f.best(); best != nil {
		return best.name, best.value
	}
	return "", 0
}

// Len counts the URLs that wait.
func (f *Frontier) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.waiting)
}

func (f *Frontier) hasSeeds() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seeds.waiting > 0
}

// Next takes the URL to fetch now. It is nil if none waits, or if none should be fetched before the next answer; then
// some URL that was taken is not done.
func (f *Frontier) Next(ctx context.Context) *Item {
	f.turn.Lock()
	defer f.turn.Unlock()
	f.rank(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	from := f.seeds
	if from.waiting == 0 {
		from = cmp.Or(f.buckets[f.granted], f.best(), f.unknown)
	}
	if from.waiting == 0 || (f.short && from != f.seeds) {
		return nil
	}
	item := from.head()
	if from.name != "" {
		f.inFlight[from.name]++
		f.outlook.took(from.name)
	}
	f.taken++
	f.leave(item)
	item.from = from.name
	delete(f.waiting, item.URL)
	return item
}

// rank asks which bucket comes next, outside the lock: links may be added meanwhile.
func (f *Frontier) rank(ctx context.Context) {
	asked := f.question()
	if asked == nil {
		return
	}
	values, urls, err := f.plan(ctx, asked)
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, value := range values {
		if known := f.buckets[name]; known != nil {
			known.value = value
		}
	}
	f.granted = ""
	for name := range urls {
		f.granted = name
	}
	f.short = err == nil && f.granted == "" && f.taken > 0
}

// question is what is to be asked; nil if nothing waits, or while no place is to be filled.
func (f *Frontier) question() *pb.RankBucketsRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.short || len(f.buckets) == 0 {
		return nil
	}
	asked := &pb.RankBucketsRequest{N: 1}
	byAge := func(a, b *bucket) int { return cmp.Compare(a.head().number, b.head().number) }
	for _, waits := range slices.SortedFunc(maps.Values(f.buckets), byAge) {
		asked.Buckets = append(asked.Buckets, waits.name)
		asked.Waiting = append(asked.Waiting, uint32(waits.waiting))
	}
	for name, count := range f.inFlight {
		asked.InFlight = append(asked.InFlight, &pb.BucketInFlight{Bucket: name, Count: proto.Uint32(uint32(count))})
	}
	return asked
}

// Done notes that what became of a URL that was taken is known to the server, or never will be.
func (f *Frontier) Done(item *Item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.short = false
	f.taken--
	if f.inFlight[item.from]--; f.inFlight[item.from] <= 0 {
		delete(f.inFlight, item.from)
	}
}

// best is the bucket that is worth most, of equal ones the older; nil if all are empty.
func (f *Frontier) best() *bucket {
	var best *bucket
	var most float64
	for _, waits := range f.buckets {
		value := f.outlook.worth(waits.name, waits.value)
		if best == nil || value > most || (value == most && waits.head().number < best.head().number) {
			best, most = waits, value
		}
	}
	return best
}

// leave takes an item out of its bucket.
func (f *Frontier) leave(item *Item) {
	if from := item.in; from != nil {
		item.in = nil
		if from.waiting--; from.waiting == 0 {
			from.queue = nil
			delete(f.buckets, from.name)
		}
	}
}

func (f *Frontier) made(url string, value any) *Item {
	f.waiting[url] = &Item{URL: url, Value: value}
	return f.waiting[url]
}
