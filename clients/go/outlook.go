package linkscore

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// The rule of outages (docs/reference/clients.md).
const (
	trust     = 16    // links taken from a bucket nobody had tried that halve what it is thought to be worth
	maxShapes = 4_096 // shapes that are remembered, at least: far more than a site has templates
)

// outlook has where links of each shape were found last, and what was taken from each bucket.
type outlook struct {
	away         bool
	found, older map[string]placing // by shape; older are forgotten when there are too many
	shapeOf      map[string]string  // the coarse shape of the link found last, by bucket
	tried        map[string]tries   // by coarse shape
	taken        map[string]tries   // by bucket
}

// placing is where a link of a shape was found last, and what its bucket was worth then.
type placing struct {
	bucket string
	value  float64
}

// tries counts links taken from a bucket; or of a shape, fetches that brought a page, and all: those before the outage, and
// links taken since it began.
type tries struct{ pages, all, before, since int }

func newOutlook() *outlook {
	return &outlook{
		found: map[string]placing{}, shapeOf: map[string]string{}, tried: map[string]tries{}, taken: map[string]tries{},
	}
}

func (o *outlook) setAway(away bool) {
	o.away = away
	for _, counts := range []map[string]tries{o.tried, o.taken} {
		for name, count := range counts {
			count.before, count.since = count.pages, 0
			counts[name] = count
		}
	}
}

// placed notes the bucket of a link that is new to the crawl: from others nothing is taken where they were found now.
func (o *outlook) placed(address string, at placing) {
	if len(o.found) >= maxShapes {
		o.found, o.older = map[string]placing{}, o.found
	}
	for _, shape := range shapes(address) {
		o.found[shape] = at
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
		for _, known := range []map[string]placing{o.found, o.older} {
			if at, has := known[shape]; has {
				return at
			}
		}
	}
	return placing{}
}

// took notes that a link was taken from a bucket.
func (o *outlook) took(bucket string) {
	own, like := o.taken[bucket], o.tried[o.shapeOf[bucket]]
	own.pages++
	if o.away {
		own.since++
		like.since++
		o.tried[o.shapeOf[bucket]] = like
	}
	o.taken[bucket] = own
}

// worth is what is left of the last known value of a bucket.
func (o *outlook) worth(bucket string, value float64) float64 {
	if !o.away {
		return value
	}
	own, like := o.taken[bucket], o.tried[o.shapeOf[bucket]]
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
