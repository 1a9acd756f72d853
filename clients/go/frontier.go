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

// maxPlaces is how many buckets a URL that was found several times may wait in at once.
const maxPlaces = 4

// Item is a URL that waits to be fetched.
type Item struct {
	URL string
	// Ticket is that of the bucket the URL was taken from.
	Ticket []byte
	// Value is what the caller keeps with the URL.
	Value any

	places map[*bucket]place // of each bucket it waits in
	from   string            // bucket it was taken from, empty if from none
	guess  bool              // it was found while the server was away: where it waits is a guess
}

// place is that of a URL in a bucket: its number among all places there were, and the ticket for the way it was found by.
type place struct {
	number int64
	ticket []byte
}

// bucket has URLs that are scored, and behind them those that are guessed to belong there; some may have left by now.
type bucket struct {
	name            string // empty of URLs the server does not know
	value           float64
	waiting         int
	scored, guessed []*Item
}

// head is the URL to take first; the bucket is not empty.
func (b *bucket) head() *Item {
	left := func(item *Item) bool { _, waits := item.places[b]; return !waits }
	for len(b.scored) > 0 && (b.scored[0].guess || left(b.scored[0])) {
		b.scored = b.scored[1:]
	}
	if len(b.scored) > 0 {
		return b.scored[0]
	}
	for !b.guessed[0].guess || left(b.guessed[0]) {
		b.guessed = b.guessed[1:]
	}
	return b.guessed[0]
}

// number is that of its head: of buckets worth the same the older one goes first.
func (b *bucket) number() int64 { return b.head().places[b].number }

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
	f.place(f.made(url, value), into, nil)
}

// AddUnscored lets a link wait that was found while the server was away: where new links of its shape were found last, or,
// if there was none, behind all others; true if it is a guess. It gets its score with the answer to its page.
func (f *Frontier) AddUnscored(url string, value any) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting[url] != nil {
		return false
	}
	item, like, into := f.made(url, value), f.outlook.guess(url), f.unknown
	item.guess = true
	if like.bucket != "" {
		into = f.bucket(like)
	}
	f.place(item, into, nil)
	return into != f.unknown
}

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
	item := f.waiting[links[0].URL]
	if item == nil || !item.guess {
		return false
	}
	f.score(item, links)
	return true
}

func (f *Frontier) score(item *Item, links []Link) {
	if item.guess { // what was guessed counts no longer
		item.guess = false
		f.leave(item)
	}
	if len(item.places) == 0 { // one found again is not taken from where it was found now, and teaches nothing
		best := slices.MaxFunc(links, func(a, b Link) int { return cmp.Compare(a.Score, b.Score) })
		f.outlook.placed(item.URL, placing{best.Bucket, best.BucketValue})
	}
	for _, link := range links {
		if _, waits := item.places[f.buckets[link.Bucket]]; !waits && len(item.places) < maxPlaces {
			f.place(item, f.bucket(placing{link.Bucket, link.BucketValue}), link.Ticket)
		}
	}
}

func (f *Frontier) bucket(at placing) *bucket {
	into := f.buckets[at.bucket]
	if into == nil {
		into = &bucket{name: at.bucket, value: at.value}
		f.buckets[at.bucket] = into
	}
	return into
}

func (f *Frontier) place(item *Item, into *bucket, ticket []byte) {
	f.numbers++
	item.places[into] = place{f.numbers, ticket}
	into.waiting++
	if item.guess {
		into.guessed = append(into.guessed, item)
	} else {
		into.scored = append(into.scored, item)
	}
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
	item.from, item.Ticket = from.name, item.places[from].ticket
	if item.from != "" {
		f.inFlight[item.from]++
		f.outlook.took(item.from)
	}
	f.taken++
	f.leave(item)
	if f.waiting[item.URL] == item {
		delete(f.waiting, item.URL)
	}
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
	byAge := func(a, b *bucket) int { return cmp.Compare(a.number(), b.number()) }
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
		if best == nil || value > most || (value == most && waits.number() < best.number()) {
			best, most = waits, value
		}
	}
	return best
}

// leave takes an item out of the buckets it waits in.
func (f *Frontier) leave(item *Item) {
	for from := range item.places {
		if from.waiting--; from.waiting == 0 {
			from.scored, from.guessed = nil, nil
			delete(f.buckets, from.name)
		}
	}
	clear(item.places)
}

func (f *Frontier) made(url string, value any) *Item {
	item := &Item{URL: url, Value: value, places: map[*bucket]place{}}
	f.waiting[url] = item
	return item
}
