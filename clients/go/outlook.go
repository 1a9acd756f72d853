package linkscore

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// The rule of outages (docs/reference/clients.md).
const (
	trust     = 16    // links taken of a shape nobody had tried that halve what they are thought to be worth
	maxShapes = 4_096 // shapes that are remembered: far more than a site has templates
)

// outlook is what a crawl knows of URL shapes, for when the server says nothing.
type outlook struct {
	away   bool
	shapes map[string]*shape
	of     map[string]*shape // of the link found last, by bucket
}

// shape is where links of one shape were found last and what became of them: fetches that brought a page, and all; pages
// before the outage, and links taken since it began.
type shape struct {
	bucket                    string
	value                     float64
	pages, all, before, since int
}

func newOutlook() *outlook {
	return &outlook{shapes: map[string]*shape{}, of: map[string]*shape{}}
}

func (o *outlook) setAway(away bool) {
	o.away = away
	for _, known := range o.shapes {
		known.before, known.since = known.pages, 0
	}
}

func (o *outlook) shape(address string) *shape {
	name := shapeOf(address)
	if o.shapes[name] == nil {
		if len(o.shapes) >= maxShapes {
			clear(o.shapes)
		}
		o.shapes[name] = &shape{}
	}
	return o.shapes[name]
}

// placed notes the bucket of a link that is new to the crawl: from others nothing is taken where they were found now.
func (o *outlook) placed(address, bucket string, value float64) {
	known := o.shape(address)
	known.bucket, known.value = bucket, value
	o.of[bucket] = known
}

func (o *outlook) fetched(address string, failed bool) {
	known := o.shape(address)
	known.all++
	if !failed {
		known.pages++
	}
}

// took notes that a link was taken from a bucket.
func (o *outlook) took(bucket string) {
	if known := o.of[bucket]; o.away && known != nil {
		known.since++
	}
}

// worth is what is left of the last known value of a bucket.
func (o *outlook) worth(bucket string, value float64) float64 {
	known := o.of[bucket]
	if !o.away || known == nil {
		return value
	}
	half := float64(trust * (1 + known.before))
	return value * float64(1+known.pages) / float64(1+known.all) * half / (half + float64(known.since))
}

var (
	digits    = regexp.MustCompile(`[0-9]+`)
	word      = regexp.MustCompile(`^[A-Za-z]+[-_]?[0-9]`)
	extension = regexp.MustCompile(`\.[a-z]{2,5}$`)
)

// shapeOf writes a URL without what names one page: the last part of the path is any but for a word before digits, every part
// with a digit is, and of the query there are the keys.
func shapeOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return address
	}
	parts, last := strings.Split(parsed.EscapedPath(), "/"), true
	for i, part := range slices.Backward(parts) {
		switch {
		case part != "" && last:
			last = false
			parts[i] = strings.TrimRight(word.FindString(part), "0123456789") + "*" + extension.FindString(part)
		case digits.MatchString(part):
			parts[i] = "#"
		}
	}
	var keys []string
	for pair := range strings.SplitSeq(parsed.RawQuery, "&") {
		key, _, _ := strings.Cut(pair, "=")
		keys = append(keys, digits.ReplaceAllString(key, "#"))
	}
	slices.Sort(keys)
	return parsed.Host + strings.Join(parts, "/") + "?" + strings.Join(slices.Compact(keys), "&")
}
