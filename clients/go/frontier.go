package linkscore

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	pb "linkscore.example/go/linkscorev1"
)

const (
	maxPlaces = 4     // buckets that a URL which was found several times may wait in at once
	trust     = 16    // links taken from a bucket nobody had tried that halve what it is thought to be worth in an outage
	maxShapes = 4_096 // shapes that are remembered, at least: far more than a site has templates
)

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

// frontier is the order of a Session, which locks it: a URL is taken once.
type frontier struct {
	outlook
	buckets        map[string]*bucket // those that are not empty
	seeds, unknown *bucket
	waiting        map[string]*Item
	numbers        int64
	inFlight       map[string]int // links taken and not done, by bucket
	taken          int            // URLs taken and not done, whatever they were taken from
	granted        string         // the bucket that the server says to take from now
	short          bool           // it granted none, and that is how it is until something is done
}

func newFrontier() *frontier {
	return &frontier{
		outlook: newOutlook(), buckets: map[string]*bucket{}, seeds: &bucket{}, unknown: &bucket{},
		waiting: map[string]*Item{}, inFlight: map[string]int{},
	}
}

func (f *frontier) add(into *bucket, url string, value any) { f.place(f.made(url, value), into, nil) }

// addOnce leaves a URL that waits where it is.
func (f *frontier) addOnce(into *bucket, url string, value any) {
	if f.waiting[url] == nil {
		f.add(into, url, value)
	}
}

// addUnscored lets a link wait that was found while the server was away: where new links of its shape were found last, or,
// if there was none, behind all others; true if it is a guess. It gets its score with the answer to its page.
func (f *frontier) addUnscored(url string, value any) bool {
	if f.waiting[url] != nil {
		return false
	}
	item, like, into := f.made(url, value), f.guess(url), f.unknown
	item.guess = true
	if like.bucket != "" {
		into = f.bucket(like)
	}
	f.place(item, into, nil)
	return into != f.unknown
}

// found lets a link wait in each bucket that one page gave it.
func (f *frontier) found(url string, links []Link, value any) {
	item := f.waiting[url]
	if item == nil {
		item = f.made(url, value)
	}
	f.score(item, links)
}

// rescore gives a link that waits without a score its own; false if it does not wait without one.
func (f *frontier) rescore(url string, links []Link) bool {
	item := f.waiting[url]
	if item == nil || !item.guess {
		return false
	}
	f.score(item, links)
	return true
}

func (f *frontier) score(item *Item, links []Link) {
	if item.guess { // what was guessed counts no longer
		item.guess = false
		f.leave(item)
	}
	if len(item.places) == 0 { // one found again is not taken from where it was found now, and teaches nothing
		best := slices.MaxFunc(links, func(a, b Link) int { return cmp.Compare(a.Score, b.Score) })
		f.placed(item.URL, placing{best.Bucket, best.BucketValue})
	}
	for _, link := range links {
		if _, waits := item.places[f.buckets[link.Bucket]]; !waits && len(item.places) < maxPlaces {
			f.place(item, f.bucket(placing{link.Bucket, link.BucketValue}), link.Ticket)
		}
	}
}

func (f *frontier) bucket(at placing) *bucket {
	into := f.buckets[at.bucket]
	if into == nil {
		into = &bucket{name: at.bucket, value: at.value}
		f.buckets[at.bucket] = into
	}
	return into
}

func (f *frontier) place(item *Item, into *bucket, ticket []byte) {
	f.numbers++
	item.places[into] = place{f.numbers, ticket}
	into.waiting++
	if item.guess {
		into.guessed = append(into.guessed, item)
	} else {
		into.scored = append(into.scored, item)
	}
}

// question is what is to be asked; nil if nothing waits, or while no place is to be filled.
func (f *frontier) question() *pb.RankBucketsRequest {
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

// heed takes over an answer, if there is one.
func (f *frontier) heed(values map[string]float64, urls map[string]int, answered bool) {
	for name, value := range values {
		if known := f.buckets[name]; known != nil {
			known.value = value
		}
	}
	f.granted = ""
	for name := range urls {
		f.granted = name
	}
	f.short = answered && f.granted == "" && f.taken > 0
}

// take gives the URL to fetch now; nil if there is none.
func (f *frontier) take() *Item {
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
		f.took(item.from)
	}
	f.taken++
	f.leave(item)
	if f.waiting[item.URL] == item {
		delete(f.waiting, item.URL)
	}
	return item
}

func (f *frontier) done(item *Item) {
	f.short = false
	f.taken--
	if f.inFlight[item.from]--; f.inFlight[item.from] <= 0 {
		delete(f.inFlight, item.from)
	}
}

// best is the bucket that is worth most, of equal ones the older; nil if all are empty.
func (f *frontier) best() *bucket {
	var best *bucket
	var most float64
	for _, waits := range f.buckets {
		value := f.worth(waits.name, waits.value)
		if best == nil || value > most || (value == most && waits.number() < best.number()) {
			best, most = waits, value
		}
	}
	return best
}

// leave takes an item out of the buckets it waits in.
func (f *frontier) leave(item *Item) {
	for from := range item.places {
		if from.waiting--; from.waiting == 0 {
			from.scored, from.guessed = nil, nil
			delete(f.buckets, from.name)
		}
	}
	clear(item.places)
}

func (f *frontier) made(url string, value any) *Item {
	item := &Item{URL: url, Value: value, places: map[*bucket]place{}}
	f.waiting[url] = item
	return item
}

// stops names decisions as crawlers end with them.
var stops = map[pb.Decision]string{
	pb.Decision_DECISION_STOP_YIELD:   "linkscore_yield",
	pb.Decision_DECISION_STOP_COVERED: "linkscore_covered",
	pb.Decision_DECISION_STOP_BUDGET:  "linkscore_budget",
}

// allowance is what the budget of a crawl still allows, as the answers to its pages say. Until the first page is answered
// one fetch may begin at a time: a crawl that was there may have spent all.
type allowance struct {
	left        float64
	unknown     float64 // fetches that the server has not counted, for ever if it refused them
	answered    bool
	seq         uint64 // event of the answer that was taken over
	spent       bool
	reason, why string
}

func newAllowance(budget *pb.Budget) allowance {
	left := math.Inf(1)
	if budget.GetMaxFetches() > 0 {
		left = float64(budget.GetMaxFetches())
	}
	return allowance{left: left}
}

// take takes over what the answer to a page says. One that another overtook can only allow less: numbers of events begin
// anew where the server lost the crawl.
func (a *allowance) take(result *pb.PageResult) {
	a.answered = true
	a.unknown--
	said := result.GetStanding()
	left := math.Inf(1)
	if said != nil && said.FetchesLeft != nil {
		left = float64(said.GetFetchesLeft())
	}
	if said == nil || (result.GetEventSeq() < a.seq && left >= a.left && !said.GetSpent()) {
		return
	}
	a.seq, a.left = max(a.seq, result.GetEventSeq()), left
	a.spent, a.reason, a.why = said.GetSpent(), stops[said.GetDecision()], said.GetReason()
}

// full says whether no fetch may begin beside those under way; start pages may, which may be of a site that has not stopped.
func (a *allowance) full(underWay int, seeds bool) bool {
	if a.spent || (a.reason != "" && !seeds) {
		return true
	}
	if math.IsInf(a.left, 1) {
		return false
	}
	if underWay == 0 && a.unknown >= a.left && a.reason == "" {
		a.reason = "linkscore_budget"
		a.why = fmt.Sprintf("%g fetches that the server does not know are all that was left", a.unknown)
	}
	return float64(underWay)+a.unknown >= a.left || (!a.answered && underWay > 0)
}

// outlook has where links of each shape were found last, and what was taken from each bucket: the rule of outages.
type outlook struct {
	away           bool
	places, older  map[string]placing // by shape; older are forgotten when there are too many
	shapeOf        map[string]string  // the coarse shape of the link found last, by bucket
	tried, takenOf map[string]tries   // by coarse shape; by bucket
}

// placing is where a link of a shape was found last, and what its bucket was worth then.
type placing struct {
	bucket string
	value  float64
}

// tries counts links taken from a bucket; or of a shape, fetches that brought a page, and all: those before the outage, and
// links taken since it began.
type tries struct{ pages, all, before, since int }

func newOutlook() outlook {
	return outlook{
		places: map[string]placing{}, shapeOf: map[string]string{}, tried: map[string]tries{}, takenOf: map[string]tries{},
	}
}

func (o *outlook) setAway(away bool) {
	o.away = away
	for _, counts := range []map[string]tries{o.tried, o.takenOf} {
		for name, count := range counts {
			count.before, count.since = count.pages, 0
			counts[name] = count
		}
	}
}

// placed notes the bucket of a link that is new to the crawl: from others nothing is taken where they were found now.
func (o *outlook) placed(address string, at placing) {
	if len(o.places) >= maxShapes {
		o.places, o.older = map[string]placing{}, o.places
	}
	for _, shape := range shapes(address) {
		o.places[shape] = at
		o.shapeOf[at.bucket] = shape // in the end the coarse one
	}
}

func (o *outlook) fetched(address string, failed bool) {
	if len(o.tried) >= maxShapes {
		clear(o.tried)
	}
	coarse := shapes(address)[1]
	count := o.tried[coarse]
	count.all++
	if !failed {
		count.pages++
	}
	o.tried[coarse] = count
}

// guess is the bucket where links like this one were found last, empty if there was none.
func (o *outlook) guess(address string) placing {
	for _, shape := range shapes(address) {
		for _, known := range []map[string]placing{o.places, o.older} {
			if at, has := known[shape]; has {
				return at
			}
		}
	}
	return placing{}
}

// took notes that a link was taken from a bucket.
func (o *outlook) took(bucket string) {
	own, like := o.takenOf[bucket], o.tried[o.shapeOf[bucket]]
	own.pages++
	if o.away {
		own.since++
		like.since++
		o.tried[o.shapeOf[bucket]] = like
	}
	o.takenOf[bucket] = own
}

// worth is what is left of the last known value of a bucket.
func (o *outlook) worth(bucket string, value float64) float64 {
	if !o.away {
		return value
	}
	own, like := o.takenOf[bucket], o.tried[o.shapeOf[bucket]]
	value *= float64(1+like.pages) / float64(1+like.all)
	half := float64(trust * (1 + max(own.before, like.before)))
	return value * half / (half + float64(max(own.since, like.since)))
}

var (
	digits    = regexp.MustCompile(`[0-9]+`)
	extension = regexp.MustCompile(`\.[a-z]{2,5}$`)
)

// shapes writes a URL without what names one page: first fine, with runs of digits alike and only the keys of its query,
// then coarse, where the last part of the path, and every part with a digit, is any.
func shapes(address string) [2]string {
	parsed, err := url.Parse(address)
	if err != nil {
		return [2]string{address, address}
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
	return [2]string{fine, "*" + parsed.Host + strings.Join(parts, "/") + query}
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
