package linkscore

import (
	"fmt"
	"math"
	"testing"
)

func TestWhileAwayBucketsFadeWithTheirShapesAndLessIfTheyAreProven(t *testing.T) {
	o := newOutlook()
	o.placed("http://a.test/tag/red", "tags", .9)
	if found := o.shape("http://a.test/tag/blue"); found.bucket != "tags" || found.value != .9 {
		t.Fatal(found)
	}
	is := func(bucket string, want float64) {
		t.Helper()
		if got := o.worth(bucket, .9); math.Abs(got-want) > 1e-9 {
			t.Fatal(bucket, got, want)
		}
	}
	o.fetched("http://a.test/tag/red", false)
	o.setAway(true)
	o.took("tags")
	is("tags", .9*32/33)
	o.fetched("http://a.test/tag/red", true)
	is("tags", .6*32/33)
	o.placed("http://a.test/tag/blue", "blue", .9) // another bucket of links of that shape
	is("blue", .6*32/33)
	is("of no known shape", .9)
	o.setAway(false)
	is("tags", .9)
}

func TestURLsAreRememberedByTheirShapesAndNoMoreThanAreAllowed(t *testing.T) {
	for url, want := range map[string]string{
		"http://a.org/2026/11/hello-world/":         "a.org/#/#/*/?",
		"http://a.org/viewtopic.php?t=5&start=10#p": "a.org/*.php?start&t",
		"http://a.org/123/some-title":               "a.org/#/*?",
		"http://a.org/":                             "a.org/?",
		"http://a.org/x/f12.html?b1=2&b2=3":         "a.org/x/f*.html?b#",
	} {
		if found := shapeOf(url); found != want {
			t.Fatal(url, found)
		}
	}
	o := newOutlook()
	for n := range 2*maxShapes - 1 {
		o.placed(fmt.Sprintf("http://%d.test/", n), "b", 1)
	}
	if o.shape("http://8000.test/").bucket == "" || o.shape("http://0.test/").bucket != "" || len(o.shapes) > maxShapes {
		t.Fatal(len(o.shapes))
	}
}
