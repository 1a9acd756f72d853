package linkscore

import (
	"fmt"
	"math"
	"testing"
)

func TestWhileAwayBucketsFadeWithTheirShapesAndLessIfTheyAreProven(t *testing.T) {
	o := newOutlook()
	o.placed("http://a.test/tag/red", placing{"tags", .9})
	if found := o.guess("http://a.test/tag/blue"); found.bucket != "tags" || found.value != .9 {
		t.Fatal(found)
	}
	is := func(bucket string, value, want float64) {
		t.Helper()
		if got := o.worth(bucket, value); math.Abs(got-want) > 1e-9 {
			t.Fatal(bucket, got, want)
		}
	}
	o.took("tags")
	o.setAway(true)
	o.took("tags")
	is("tags", .9, .9*32/33)
	o.fetched("http://a.test/tag/red", true)
	is("tags", .9, .45*32/33)
	o.placed("http://a.test/tag/blue", placing{"blue", .9}) // another bucket of links of that shape
	is("blue", .9, .45*16/17)
	o.setAway(false)
	is("tags", .9, .9)
}

func TestURLsAreRememberedByTwoShapesAndNoMoreThanAreAllowed(t *testing.T) {
	for url, want := range map[string][2]string{
		"http://a.org/2026/11/hello-world/":         {"a.org/#/#/hello-world/", "*a.org/#/#/*/"},
		"http://a.org/viewtopic.php?t=5&start=10#p": {"a.org/viewtopic.php?start&t", "*a.org/*.php?start&t"},
		"http://a.org/123/some-title":               {"a.org/#/some-title", "*a.org/#/*"},
		"http://a.org/":                             {"a.org/", "*a.org/"},
		"http://a.org/x/f12.html?b1=2&b2=3":         {"a.org/x/f#.html?b#", "*a.org/x/*.html?b#"},
	} {
		if found := shapes(url); found != want {
			t.Fatal(url, found)
		}
	}
	o := newOutlook()
	for n := range 2 * maxShapes {
		o.placed(fmt.Sprintf("http://%d.test/", n), placing{"b", 1})
	}
	if o.guess("http://0.test/").bucket != "" || o.guess("http://8000.test/").bucket == "" || len(o.places)+len(o.older) > 2*maxShapes+4 {
		t.Fatal(len(o.places), len(o.older))
	}
}
