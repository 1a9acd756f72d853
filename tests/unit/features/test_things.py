"""What a page says that it is: one product, job or article; a list says nothing, or several."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.features.html import extract
from linkscore_scoring.features.things import thing_of

PRODUCT = {"@context": "https://schema.org", "@type": "Product", "name": "a lamp"}


def thing(head: str = "", body: str = "<body>", title: str = "a lamp") -> int:
    page = f"<html><head><title>{title}</title>{head}</head>{body}<p>text</p></body></html>"
    return extract(page.encode(), url="http://a.org/", content_type="text/html").thing


def json_ld(*documents: object) -> str:
    return "".join(f'<script type="application/ld+json">{json.dumps(each)}</script>' for each in documents)


@pytest.mark.parametrize(
    "head",
    [
        json_ld(PRODUCT),
        json_ld([PRODUCT]),
        json_ld(
            {"@graph": [{"@type": "WebPage"}, PRODUCT | {"@type": ["Thing", "http://schema.org/Product"]}]}
        ),
        json_ld({"@type": "WebPage", "mainEntity": PRODUCT}),
        json_ld(PRODUCT, PRODUCT),
        json_ld({"@type": "JobPosting", "title": "a lamp"}),
        json_ld(PRODUCT | {"isRelatedTo": [{"@type": "Product", "name": "a bed"}]}),
        "<script type='application/ld+json' async>not JSON</script>" + json_ld(PRODUCT),
        '<script type="application/ld+json">{"@type": "Product", "name": "a\tlamp"}</script>',
        '<meta property="og:type" content="product">',
        "<meta property=og:type content=product>",
        '<li class="menu-item current-post-ancestor">',
        "<!-- ======== START OF CLASS DATA ======== -->",
    ],
)
def test_a_page_of_one_thing_says_so(head: str) -> None:
    assert thing(head) != 0


@pytest.mark.parametrize(
    "head",
    [
        "",
        json_ld(PRODUCT, PRODUCT | {"name": "a bed"}),
        json_ld([PRODUCT, PRODUCT | {"name": "a bed"}]),
        json_ld({"@type": "ItemList", "itemListElement": [PRODUCT]}),
        json_ld({"@type": "Article", "name": "a lamp", "about": PRODUCT}),
        json_ld(PRODUCT | {"name": ["a", "lamp"]}, PRODUCT | {"name": " "}),
        json_ld({"@type": [None, ["Product"], {"Product": 1}, 7], "name": "a lamp"}, 7, "Product", None),
        '<meta property="og:type" content="product.group">',
        '<meta property="og:type" content="article">',
        "<style>.current-post-ancestor a { color: red }</style>",
        '<script type="application/ld+json">' + "[" * 100_000 + "</script>",
        json_ld(PRODUCT | {"description": "x" * 300_000}),
    ],
)
def test_a_list_an_article_and_what_is_broken_say_nothing(head: str) -> None:
    assert thing(head) == 0


@pytest.mark.parametrize(
    ("classes", "is_one"),
    [
        ("post-template single single-post", True),
        ("mediawiki ns-0 action-view", True),
        ("html page-node page-node- page-node-12", True),
        ("com_content view-article itemid-7", True),
        ("not-front node-type-article", True),
        ("native-currency-code-usd view-item collection-type-blog", True),
        ("native-currency-code-usd view-list collection-type-blog", False),
        ("template-product", True),
        ("class-declaration-page", True),
        ("rustdoc struct", True),
        ("rustdoc mod crate", False),
        ("single-product single woocommerce-no-js", True),
        ("single-post single woocommerce-no-js", False),
        ("single-post single\n woocommerce-no-js", False),
        ("page page-id-7 single-column view-category", False),
        ("single single-attachment attachment", False),
        ("mediawiki ns-0 action-edit", False),
        ("mediawiki ns-14 action-view", False),
    ],
)
@pytest.mark.parametrize("body", ['<body class="%s">', "<body id='b'\n class='%s' dir=ltr>"])
def test_engines_tell_such_pages_from_lists_by_a_class(body: str, classes: str, is_one: bool) -> None:
    assert (thing(body=body % classes) != 0) is is_one
    assert thing(body=body % classes, title="") == 0


def test_the_name_is_what_json_ld_says_else_the_title_and_one_name_is_one_thing() -> None:
    names = [json_ld(PRODUCT | {"name": name}) for name in ("a lamp", "a bed")]
    assert len({thing(name) for name in names}) == 2
    assert thing(names[0]) == thing(names[0], title="another") == thing(body='<body class="single">')


@pytest.mark.parametrize(
    "hostile",
    [
        b"<body " * 400_000,
        b"application/ld+json> " * 200_000,
        b'<script type="application/ld+json">' + b'{"@graph":' * 20_000 + b"1" + b"}" * 20_000,
        b"og:type content=" * 200_000,
    ],
)
def test_hostile_pages_of_megabytes_name_nothing(hostile: bytes) -> None:
    assert thing_of(hostile, "title") == 0


@given(st.binary(max_size=300))
def test_no_page_is_too_broken(body: bytes) -> None:
    assert 0 <= thing_of(b'<body class="' + body + b'application/ld+json">' + body, "title") < 1 << 64
