package linkscore

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// The rule of outages (docs/reference/clients.md): what buckets are worth and where new links belong while the server says
// nothing of either.
const (
	trust     = 16    // links taken from a bucket nobody had tried that halve what it is thought to be worth
	maxShapes = 4_096 // shapes that are remembered, at least: far more than a site has templates
)

// outlook has where links of each shape were found last, and what was taken from each bucket.
type outlook struct {
	away         bool
	found, older map[string]placing // by shape; older are forgotten when there are too many
	before       map[string]int     // links taken until the server was lost, by bucket
	since        map[string]int     // and since then
}

// placing is where a link of a shape was found last, and what its bucket was worth then.
type placing struct {
	bucket string
	value  float64
}

func newOutlook() *outlook {
	return &outlook{found: map[string]placing{}, before: map[string]int{}, since: map[string]int{}}
}

// setAway notes the beginning of an outage, or its end.
func (o *outlook) setAway(away bool) {
	o.away = away
	for bucket, taken := range o.since {
		o.before[bucket] += taken
	}
	clear(o.since)
}

// placed notes the bucket of a link that is new to the crawl: from others nothing is taken where they were found now.
func (o *outlook) placed(address string, at placing) {
	if len(o.found) >= maxShapes {
		o.found, o.older = map[string]placing{}, o.found
	}
	for _, shape := range shapes(address) {
		o.found[shape] = at
	}
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
	if o.away {
		o.since[bucket]++
	} else {
		o.before[bucket]++
	}
}

// worth is what is left of the last known value of a bucket: it fades by what was taken since the server was lost, the
// slower the more often it was tried before.
func (o *outlook) worth(bucket string, value float64) float64 {
	half := float64(trust * (1 + o.before[bucket]))
	return value * half / (half + float64(o.since[bucket]))
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
