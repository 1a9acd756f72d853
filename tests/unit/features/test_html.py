"""Pages to features, with expectations worked out by hand."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from linkscore_scoring.clustering.class_paths import plain_nodes
from linkscore_scoring.features.html import extract
from linkscore_scoring.features.types import Limits, PageFeatures
from linkscore_scoring.kernels import PURE, choose

URL = "http://example.org/dir/page.html"


def page(markup: str, **more: Any) -> PageFeatures:
    return extract(markup.encode(), url=URL, **more)


def test_leaves_are_texts_images_and_anchors_with_href() -> None:
    found = page("<body><p>one</p><p>two <b>three</b></p><img src=x><a name=n>four</a><a href=y>five</a>")
    assert plain_nodes().bag(found.paths) == {
        "html/body/p/text()": 2,
        "html/body/p/b/text()": 1,
        "html/body/img": 1,
        "html/body/a": 1,
        "html/body/a/text()": 2,
    }


def test_hidden_subtrees_and_comments_have_no_paths_and_no_links() -> None:
    found = page(
        "<head><title>t</title></head><body><script>if (a<b) x</script><style>p{}</style>"
        "<noscript><a href=x>y</a></noscript><template><p>z</p></template>"
        "<!-- <p>c</p> --><?php echo ?><p>shown</p>"
    )
    assert plain_nodes().bag(found.paths) == {"html/body/p/text()": 1}
    assert len(found.links) == 0


def test_class_tokens_are_distinct_and_sorted_on_every_element() -> None:
    paths = page('<body class="z a z"><p class=" b\ta ">x</p>').paths
    assert list(zip(paths.tags, paths.classes, strict=True)) == [
        ("html", ""), ("body", "a z"), ("p", "a b"), ("text()", "")
    ]  # fmt: skip


def test_links_carry_url_key_anchor_link_path_and_rel() -> None:
    links = page(
        '<body><div class=nav><a class="btn nav" rel="NoFollow ugc" href="/x?b=2&amp;a=1#f"> A\n <b>B</b></a>'
    ).links
    assert links.urls == ["http://example.org/x?b=2&a=1"]
    assert links.keys == ["http://example.org/x?a=1&b=2"]
    assert links.anchors == ["A B"]
    assert [links.link_path_table[i] for i in links.link_paths] == ["html/body/div/a[btn nav]"]
    assert links.rels == ["nofollow ugc"]


def test_long_texts_outside_anchors_are_blocks() -> None:
    text = "Twenty-five characters & more"
    found = page(
        f"<p>  {text.replace('&', '&amp;')} </p><p>short</p><a href=x>{'long anchor ' * 4}</a><p>{text}</p>"
    )
    assert found.block_chars == [29, 29]
    assert found.block_hashes[0] == found.block_hashes[1]
    assert found.text_chars == 29 + 5 + 29


def test_an_image_speaks_for_an_anchor_without_text() -> None:
    links = page(
        '<a href=x><img src=y alt=" the  alt "></a><a href=z>text<img alt=no></a><map><area href=q alt=map>'
    ).links
    assert links.anchors == ["the alt", "text", "map"]
    assert [links.link_path_table[i] for i in links.link_paths] == [
        "html/body/a[]",
        "html/body/a[]",
        "html/body/map/area[]",
    ]


def test_blocks_and_line_breaks_separate_words_of_an_anchor_and_inline_elements_do_not() -> None:
    links = page(
        "<a href=x><h3>Title</h3><p>text</p></a><a href=y>one<br>two</a>"
        "<a href=z>H<sub>2</sub>O <b>is</b> <i>wet</i></a>"
    ).links
    assert links.anchors == ["Title text", "one two", "H2O is wet"]


def test_what_is_no_crawlable_link_is_counted_by_reason() -> None:
    links = page(
        "<a href='mailto:x@y'>a</a><a href='#'>b</a><a href=''>c</a>"
        "<a href='javascript:x'>d</a><a href=e>e</a>"
    ).links
    assert links.skipped == {"scheme": 2, "fragment": 1, "empty": 1}
    assert links.anchors == ["e"]


def test_a_link_to_nothing_leads_to_the_base_unless_that_is_the_page() -> None:
    links = "<a href=#top>a</a><a href=''>b</a>"
    assert page(f"<base href='/other/'>{links}").links.urls == ["http://example.org/other/"] * 2
    assert page(links).links.urls == page(f"<base href='{page('').url}#x'>{links}").links.urls == []


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        (b"<title>\n Sets  &amp;\tlists </title><h1>no</h1>", 2),
        (b"<!-- <title>no</title> --><script>'<title>no</title>'</script><title>yes it is</title>", 3),
        (b"<title>caf\xe9</title>", 1),
        (b"<title>" + b"word " * 10_000, 40),
        (b"<body><svg><title>no</title></svg>", 0),
        (b" " * 20_000 + b"<title>late</title>", 1),
        (b"<svg><title>no</title></svg><template><title>no</title></template><title>yes it is</title>", 3),
        (b"<title></title><title>second</title>", 0),
    ],
)
def test_a_title_is_the_text_of_its_element_cut_at_the_bound(markup: bytes, words: int) -> None:
    found = extract(markup, url=URL, content_type="text/html; charset=latin-1", words=True)
    assert found.words is not None
    assert found.words.lengths[0] == words


LONG = "A paragraph of some length that is a block of text."
NESTED = "<font>" * 3_000
HEAD = "<base href=/b/><base href=/><link rel=Canonical href='/c?&amp;a'><meta name=Robots content=x,NOINDEX>"


@pytest.mark.parametrize(
    ("markup", "urls"),
    [
        ("<body><a href=/1>a</a></body></html><a href=/2>b</a>", ["/1", "/2"]),
        ("<body><a href=/1>a</a></BODY ><div><a href=/2>b</a></div></Html\n>", ["/1", "/2"]),
        ("<a href=/1>a</a></html><a href=/2>b</a></html><a href=/3>c</a>", ["/1", "/2", "/3"]),
        ("<!doctype html><a href=/1>a</a></html><!doctype html><html><a href=/2>b</a>", ["/1", "/2"]),
        ("<table><tr><td><a href=/1>a</a></body></html><td><a href=/2>b</a></table>", ["/1", "/2"]),
        ("<a href=/1>a</html", ["/1"]),
        ("<!doctype html><title>t</title><main><a href=/1>a</a></main>", ["/1"]),
        ("<HEAD><script>'</head>'</script><x-app><header><a href=/1>a</header></x-app></head><p>b", ["/1"]),
        ("<head><!-- <p> --><style>p{}</style><noscript><img></noscript><nav><a href=/1>a</a></nav>", ["/1"]),
        ("<html lang=en><base href=/b/><template><a href=2>no</a></template><svg><a href=1>a</a>", ["/b/1"]),
        ("<title>t</title><script>'<main>'</script><body class=x><main><a href=/1>a</a></main>", ["/1"]),
        ("<script>'</body></html>'</script><a href=/1>a</a>", ["/1"]),
        (
            "<frameset><frame src=/1><frame src=/2 name=x></frameset><noframes><a href=/3>c</a></noframes>",
            ["/1", "/2"],
        ),
        ("<frameset><frame><frame name=x><FRAME SRC=/1/></frameset>", ["/1/"]),
        ("<iframe src=/1><a href=/2>no</a></iframe><iframe></iframe><a href=/3>c</a>", ["/1", "/3"]),
        ("<noembed><a href=/1>no</a></noembed><a href=/2>b</a>", ["/2"]),
        ("<svg><a xlink:href=/1><path/></a><g><a href=/2>b</a></g></svg>", ["/1", "/2"]),
        ("<svg><a xlink:href=/1 href=/2>b</a></svg>", ["/2"]),
        ("<a xlink:href=/1>a</a><svg><foreignObject><a xlink:href=/2>b</a></foreignObject></svg>", []),
        ("<svg><foreignObject><svg><A XLINK:HREF=/1>b</A></svg></foreignObject></svg>", ["/1"]),
        (
            "<x-nav><template shadowrootmode=open><a href=/1>a</a></template></x-nav><a href=/2>b</a>",
            ["/1", "/2"],
        ),
        ("<p><template shadowrootmode=CLOSED><a href=/1>a</a></template>", ["/1"]),
        ("<p><template shadowrootmode=no><a href=/1>a</a></template>", []),
        ("<template><p><template shadowrootmode=open><a href=/1>a</a></template></template>", []),
        (f"<a href=/0>z</a>{NESTED}<a href=/1>a</a>{'</font>' * 3_000}<a href=/2>b</a>", ["/0", "/1", "/2"]),
        (f"{NESTED}<a href=/1>a</a><a href=/2>b</a>", ["/1", "/2"]),
        ("<b><i>" * 2_000 + "</b>" * 2_000 + "<a href=/1>a</a>", ["/1"]),
        (
            "<div><p>" * 2_500 + "<img><br/><a href=/1>a</a>" + "</div>" * 2_500 + "<a href=/2>b</a>",
            ["/1", "/2"],
        ),
        ("<a href=/0>z</a><script/><a href=/1>no</a></script><a href=/2>b</a>", ["/0", "/2"]),
        ("<title class='a/>b' / ><a href=/1>no</a></TITLE><a href=/2>b</a>", ["/2"]),
        ("<IFRAME/><a href=/1>no</a></iframe><noscript //><a href=/2>no</a></noscript><a href=/3>c", ["/3"]),
        ("<template/><a href=/1>no</a></template><style id=a/><a href=/2>no</a></style><a href=/3>c", ["/3"]),
        (
            "<svg><title/><style/><script/></svg><a href=/1>a</a><math><title/></math><a href=/2>b",
            ["/1", "/2"],
        ),
        ("<!-- <svg> <script/> --><a href=/1>a</a><xmp/><a href=/2>no</a></xmp>", ["/1"]),
        ("<body><frameset><frame src=/1></frameset><a href=/2>b</a>", ["/2"]),
        ("a<frameset><frame src=/1></frameset><frame src=/2><iframe src=/3></iframe>", ["/3"]),
        ("<base href=''><base href=/b/><a href=1>a</a>", ["/dir/1"]),
        ("<base href><base href=/b/><a href=1>a</a>", ["/dir/1"]),
        ("<base target=x><base href=/b/><base href=/c/><a href=1>a</a>", ["/b/1"]),
        ("<base href=mailto:x@y.org><base href=/b/><a href=/1>no</a><a href=//example.org/2>no</a>", []),
        ("<base href=ftp://f.org/><a href=/1>no</a><a href=http://example.org/2>b</a>", ["/2"]),
        ("<base href='data:,x'><base href=/b/><a href=1>a</a>", ["/dir/1"]),
        ("<base href='http://['><a href=1>a</a>", ["/dir/1"]),
        ("<a href='\f/1\f'>a</a><a\fhref='\x01 /2 \x1f'>b</a><a href='&#12;/3'>c</a>", ["/1", "/2", "/3"]),
    ],
)
def test_links_are_found_where_browsers_find_them(markup: str, urls: list[str]) -> None:
    assert page(markup).links.urls == [f"http://example.org{url}" for url in urls]


@pytest.mark.parametrize(
    ("markup", "text_chars"),
    [
        (f"<body>x</body></html><p>{LONG}</p>", 1 + len(LONG)),
        (f"<iframe src=x><p>{LONG}</p></iframe>", 0),
        (f"<noembed>{LONG}</noembed><noframes>{LONG}</noframes><noscript>{LONG}</noscript>", 0),
        (f"<iframe>{LONG}</iframe>shown", 5),
        (f"<p><template shadowrootmode=open>{LONG}</template><template>{LONG}</template>", len(LONG)),
        (f"{NESTED}{LONG}", len(LONG)),
    ],
)
def test_texts_are_those_that_browsers_show(markup: str, text_chars: int) -> None:
    assert page(markup).text_chars == text_chars


@pytest.mark.parametrize("around", ["<svg>{}</svg>", "<template>{}</template>", "<noscript>{}</noscript>"])
@pytest.mark.parametrize(
    "inside", ["{}", "<g>{}</g>", "<svg></svg>{}", "<template shadowrootmode=open>{}</template>"]
)
def test_what_is_inert_says_nothing_of_the_page(around: str, inside: str) -> None:
    inert = around.format(inside.format(HEAD))
    found = page(f"{inert}<a href=x>y</a>")
    assert (found.links.urls, found.canonical_key) == (["http://example.org/dir/x"], "")
    assert not found.noindex
    found = page(f"{inert}{HEAD}<a href=x>y</a>")
    assert (found.links.urls, found.canonical_key) == (["http://example.org/b/x"], "http://example.org/c?a")
    assert found.noindex


@pytest.mark.parametrize(
    ("content", "url", "moved"),
    [
        ("0;url=/n", "/n", True),
        ("0; URL = '/n'", "/n", True),
        ('1, url="/n"x', "/n", True),
        (".5;/n", "/n", True),
        ("0 /n", "/n", True),
        ("0.9;urL=n", "/dir/n", True),
        ("\n 5 ; url=/n ", "/n", False),
        ("99999999999999999999;url=/n", "/n", False),
        ("0", None, False),
        ("", None, False),
        ("300;", None, False),
        ("0;url=#top", None, False),
        ("0;url=page.html", None, False),
        ("0;url=javascript:x", None, False),
        ("url=/n", None, False),
        ("-1;url=/n", None, False),
    ],
)
@pytest.mark.parametrize("around", ["<head>{}</head><a href=/1>a</a>", "<a href=/1>a</a>{}"])
def test_a_refresh_is_a_link_and_at_once_a_redirect(
    content: str, url: str | None, moved: bool, around: str
) -> None:
    meta = f"<meta http-equiv=Refresh content='{content.replace(chr(39), '&#39;')}'>"
    found = page(around.format(meta))
    target = f"http://example.org{url}"
    assert found.links.urls == ["http://example.org/1", *([target] if url else [])]
    assert found.moved_to == (target if moved else "")
    assert page(f"<noscript>{meta}</noscript><svg>{meta}</svg>").links.urls == []


def test_a_refresh_to_where_a_link_leads_is_that_link() -> None:
    found = page("<meta http-equiv=refresh content='0;url=/n'>If nothing happens, follow <a href=/n>this</a>")
    assert (found.links.anchors, found.moved_to) == (["this"], "http://example.org/n")


@pytest.mark.parametrize("body", [b"", b"  \n", b"<!-- nothing -->"])
def test_an_empty_page_has_no_features_and_says_so(body: bytes) -> None:
    found = extract(body, url=URL, content_type="text/html")
    assert (found.notes, found.paths.parents, len(found.links)) == (["empty"], [], 0)


def test_angle_brackets_in_names_do_not_derail_the_walk() -> None:
    found = page("<div <p x=1><a<b>q</a<b></div><p>after <a href=x>y</a></p>")
    assert plain_nodes().bag(found.paths)["html/body/p/a/text()"] == 1


def test_what_is_above_a_limit_is_cut_and_told() -> None:
    links = page("<a href=x>y</a>" * 1000, limits=Limits(links=10))
    elements = page("<p>x</p>" * 1000, limits=Limits(elements=10))
    paths = page("".join(f"<p class=c{i}>x</p>" for i in range(100)), limits=Limits(path_nodes=10))
    assert (len(links.links), links.notes) == (10, ["links_cut"])
    assert (sum(elements.paths.leaves) <= 10, elements.notes) == (True, ["elements_cut"])
    assert (len(paths.paths.parents) <= 11, paths.notes) == (True, ["paths_cut"])


def test_distinct_link_paths_are_bounded() -> None:
    found = page("".join(f"<a class=c{i} href=x>y</a>" for i in range(3000)))
    assert len(found.links.link_path_table) == 2001
    assert found.links.link_path_table[-1] == "a[]"
    assert found.notes == ["apaths_cut"]


def test_link_paths_of_deep_anchors_and_long_names_are_short() -> None:
    links = page(f"<{'x' * 5000}><div><div><a href=x class=b>y</a>", limits=Limits(depth=4)).links
    assert links.link_path_table == [f"html/body/{'x' * 40}/a[b]"]


def test_the_doctype_of_a_page_changes_nothing() -> None:
    markup = "<div class=a></div><a href=x>cart (<span></span>)</a><div class=b>text</div>"
    doctype = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN">'
    assert page(doctype + markup) == page(markup)
    assert page(markup).links.anchors == ["cart ( )"]


def test_a_compiled_reader_of_another_version_is_passed_over_in_words(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "linkscore_native", SimpleNamespace(ENABLED=True, COLUMNS=0))
    assert choose() is PURE
    assert "run make native" in caplog.text
