"""What a page looks like after feature extraction: plain columns, no HTML, no lxml.

Everything later (site models, learners, policies, the event log) reads these types and nothing else, so a
crawler that has its own parser can send them ready-made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.urls.identity import MAX_URL_CHARS


@dataclass(slots=True)
class PathTrie:
    """Displayed-leaf tag paths of one page, interned as a trie (Xu 2018, section 3.1).

    Node `i` is one distinct (parent, tag, class) triple met on the way from the root element to a displayed
    leaf. Leaves are non-blank text nodes (tag ``text()``), ``img``, and ``a`` with an href. `parents[i] < i`
    always holds.

    `parents`: node index of the parent, -1 for the root. `tags`: element name, lower case, or ``text()``.
    `classes`: class tokens of the element: split at white space, distinct, sorted, joined by one space; empty
    if none. `leaves`: displayed leaves that end at this node (0 for inner nodes): the term frequency of the
    path.
    """

    parents: list[int] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Links:
    """Outlinks of one page as columns, one row per anchor in document order (same URL twice = two rows).

    `urls`: absolute http(s) URL to request, without fragment. `keys`: identity of the URL, see
    `urls.identity`. `anchors`: anchor text, white space collapsed, cut at `Limits.anchor_chars`.
    `link_paths`: index into `link_path_table`. `rels`: ``rel`` attribute, lower case tokens joined by a
    space; empty if none. `link_path_table`: distinct raw link paths of the page, e.g. ``html/body/div/a[btn
    nav]`` (Xu 2018, section 3.2: element path plus the class of the ``a``; digits are kept, filters apply at
    look-up). `blocks_before`: long text blocks of the page before each anchor, for telling links that stand
    between texts. `skipped`: anchors that name no crawlable URL (``mailto:``, ``javascript:``, empty, only a
    fragment, unparsable): counts by reason.
    """

    urls: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    link_paths: list[int] = field(default_factory=list)
    rels: list[str] = field(default_factory=list)
    blocks_before: list[int] = field(default_factory=list)
    link_path_table: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.urls)


@dataclass(frozen=True, slots=True)
class Head:
    """``<base href>``, ``<link rel=canonical>``, ``<meta http-equiv=refresh>`` and ``<title>``, raw, empty if
    none; whether search engines are not to list the page.
    """

    base: str = ""
    canonical: str = ""
    noindex: bool = False
    refresh: str = ""
    title: str = ""


Hashes = NDArray[np.uint32]
"""(n,), distinct, ascending."""


@dataclass(slots=True)
class PageWords:
    """The words of a page, without their order.

    `hashes`: of the distinct words, little-endian uint32, ascending. `title`, `headings`, `text`: how often
    each word stands in the title, in ``h1`` to ``h3``, in long text blocks outside anchors; uint8, at most
    255. `lengths`: words of title, headings and text, all of them counted.
    """

    hashes: bytes = b""
    title: bytes = b""
    headings: bytes = b""
    text: bytes = b""
    lengths: list[int] = field(default_factory=lambda: [0, 0, 0])

    def columns(self) -> tuple[Hashes, NDArray[np.float64]]:
        """Return hashes, (n,), and counts in title, headings and text, (n, 3)."""
        fields = [np.frombuffer(column, np.uint8) for column in (self.title, self.headings, self.text)]
        return np.frombuffer(self.hashes, "<u4"), np.stack(fields, axis=1).astype(np.float64)


@dataclass(slots=True)
class PageFeatures:
    """Features of one fetched page.

    `url`, `key`: final URL (after redirects) and its identity. `paths`: tag paths of the displayed leaves.
    `block_hashes`, `block_chars`: 64-bit hash and length in characters of every long text block (text node of
    >= 25 characters, stripped, outside anchors), in document order; a block that occurs twice is listed
    twice. `links`: all outlinks. `canonical_key`: identity of ``<link rel=canonical>``, empty if none.
    `moved_to`: identity of where its head sends browsers at once, empty if nowhere: it is no page but a
    redirect. `noindex`: ``<meta name=robots content=noindex>``: its owner keeps it out of searches.
    `charset`: encoding the body was read in. `text_chars`: characters of displayed text outside anchors.
    `thing`: hash of the name of the one product, job or the like that it says it is about, 0 if none.
    `notes`: what was cut or repaired, e.g. ``links_cut``, ``depth_cut``, ``decode_errors``; for the per-item
    status. `layout`: records and link groups; None unless a policy of the
    crawl reads them, or if the crawler sent features of its own. `words`: its words; None unless a policy of
    the crawl reads them and the crawl says what is wanted in words. `facts`: what
    settings of the crawl go by, as plain values by name (`engine.limits`); empty unless it has such.
    """

    url: str
    key: str
    paths: PathTrie = field(default_factory=PathTrie)
    block_hashes: list[int] = field(default_factory=list)
    block_chars: list[int] = field(default_factory=list)
    links: Links = field(default_factory=Links)
    canonical_key: str = ""
    moved_to: str = ""
    noindex: bool = False
    charset: str = ""
    text_chars: int = 0
    thing: int = 0
    notes: list[str] = field(default_factory=list)
    layout: list[float] | None = None
    words: PageWords | None = None
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of feature extraction; some are settings. What is cut is named in `PageFeatures.notes`.

    All are bounds against hostile or broken pages, far beyond usual ones; chosen, not measured.

    `body_bytes`: bytes of a body, decompressed. `elements`: elements read of a page; the rest is left out.
    The largest of 24,518 stored pages has 23,000, and each costs up to 20 us with layout: twice as many would
    take a second. `depth`: elements above a leaf; deeper leaves count at their ancestor of this depth.
    `links`: anchors read of a page. The largest of 24,518 stored pages has 6,200, and each costs up to 50 us
    until it is scored. `path_nodes`: nodes of a `PathTrie`. `anchor_chars`: characters kept of an anchor
    text. `url_chars`: characters of a URL; longer ones are skipped.
    """

    body_bytes: int = 10_000_000
    elements: int = 50_000
    depth: int = 250
    links: int = 10_000
    path_nodes: int = 20_000
    anchor_chars: int = 200
    url_chars: int = MAX_URL_CHARS


_DIGITS = re.compile(r"[0-9]+")


def fold_digits(text: str) -> str:
    """Return class tokens, one or several, with every run of ASCII digits as ``#``."""
    return _DIGITS.sub("#", text)


def normal_tokens(classes: str) -> tuple[str, ...]:
    """Return class tokens distinct, sorted, with every run of digits as ``#``."""
    return tuple(sorted(set(fold_digits(classes).split())))


def normalise_link_path(raw: str) -> str:
    """Return a link path with normal class tokens: ``html/a[post-12 b b]`` is ``html/a[b post-#]``.

    Source: Xu, Gao, Callan 2018, section 3.2. Difference: runs of digits become ``#``, which the paper does
    not do.
    """
    path, found, classes = raw.removesuffix("]").partition("[")
    return f"{path}[{' '.join(normal_tokens(classes))}]" if found else f"{path}[]"
