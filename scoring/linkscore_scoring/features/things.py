"""What a page says that it is, to search engines (JSON-LD, Open Graph) or in classes: one product, job, post.

No articles of JSON-LD count, for static pages say so too: research/notebook/what-pages-say.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from linkscore_scoring.hashing import hash64

JSON_LD = re.compile(rb"application/ld\+json[^>]{0,200}>(.*?)(?:</script|\Z)", re.DOTALL)
_JSON_BYTES = 262_144  # of JSON-LD that are read, in all blocks of a page together. A bound
_THINGS = frozenset(
    (
        *("Product", "ProductGroup", "ProductModel", "IndividualProduct", "Vehicle", "Car"),
        *("JobPosting", "Recipe", "Event", "Course", "RealEstateListing", "Apartment", "House"),
        *("Book", "Movie", "TVSeries", "VideoGame", "SoftwareApplication", "MobileApplication"),
        *("VideoObject", "MusicRecording", "MusicAlbum", "PodcastEpisode"),
    )
)
"""Types of schema.org of which a site has a page each, often without much text. Chosen."""
_AROUND = ("@graph", "mainEntity")  # lead from a document, or a page, to what it is about
_OG_PRODUCT = re.compile(rb"""og:type["']?\s{1,9}content\s{0,9}=\s{0,9}["']?product["'\s/>]""")
_BODY = re.compile(rb"""<body\s[^<>]{0,1000}?\bclass\s{0,9}=\s{0,9}["']([^"'<>]{0,2000})""")
_SINGLE = re.compile(
    rb"(?:^|\s)(?:single|ns-0|page-node[\w-]*|node-type-[\w-]+|post-template|view-article|item-view"
    rb"|catalog-product-view|pkp_page_article|pg_viewthread|portaltype-news-item|view-item|template-product"
    rb"|class-declaration-page|rustdoc\s(?:struct|enum|union|trait|fn|macro))(?:\s|$)"
)
"""Classes of `<body>` that say that a page is no list: of WordPress (posts of any type but its static pages),
MediaWiki and Drupal, measured; of eleven others by their templates (research/notebook/what-pages-say.md)."""
_MARKS = (b" current-post-", b"<!-- ======== START OF CLASS DATA ======== -->")
"""Say so where `<body>` has no class: categories in menus on posts of WordPress, a comment of javadoc."""
_BESIDE = re.compile(rb"(?s)(?:^|\s)(?:attachment|action-(?!view))|^(?!.*single-product\b).*\bwoocommerce")
"""Classes of pages beside: of a picture in such a page, of a form to edit it, of posts of a shop."""


def thing_of(markup: bytes, title: str) -> int:
    """Return the hash of the name of the one thing that a page says it is about, 0 if it says nothing such.

    `title`: the name where JSON-LD has none. Broken JSON says nothing. Cost: O(bytes). Not from a paper.

    Examples
    --------
    >>> page = b'<script type="application/ld+json">{"@type": "Product", "name": "a lamp"}</script>'
    >>> thing_of(page, "") == thing_of(page + page, "") != thing_of(page.replace(b"lamp", b"bed"), "") != 0
    True
    >>> thing_of(page + page.replace(b"lamp", b"bed"), "")
    0
    """
    names = set(_names_in(markup)) if b"ld+json" in markup else set()
    is_product = not names and b"og:type" in markup and _OG_PRODUCT.search(markup)
    if len(names) != 1 and title and (is_product or _is_single(markup)):
        names = {title}
    return hash64(f"thing {names.pop()}") if len(names) == 1 else 0


def _is_single(markup: bytes) -> bool:
    found = _BODY.match(markup, max(0, markup.find(b"<body")))
    if found is None:
        return any(map(markup.__contains__, _MARKS))
    return bool(_SINGLE.search(found[1])) and not _BESIDE.search(found[1])


def _names_in(markup: bytes) -> Iterator[str]:
    """Yield the names of the things that the JSON-LD of a page is about, not of what they are related to."""
    left, waiting = _JSON_BYTES, list[Any]()
    for found in JSON_LD.finditer(markup):
        left -= len(found[1])
        if left < 0:
            break
        try:
            waiting.append(json.loads(found[1].decode("utf-8", "replace"), strict=False))
        except (ValueError, RecursionError):
            continue
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, dict):
            types, name = value.get("@type"), value.get("name") or value.get("title")
            said = [each for each in (types if isinstance(types, list) else [types]) if isinstance(each, str)]
            is_thing = any(re.split("[/:#]", each)[-1] in _THINGS for each in said)
            if is_thing and isinstance(name, str) and name.strip():
                yield name.strip()
            else:
                waiting.extend(value[key] for key in _AROUND if key in value)
