"""Values that packages hand to each other: links, fetches and feedback, examples, rules and seeds.

Every one is a dataclass of plain columns; identity hashes are `hashing.hash64` of a URL's identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from linkscore_scoring.columns import Repeated, picking
from linkscore_scoring.features.types import PageWords, PathTrie

UNKNOWN_CLUSTER = -2
"""Source cluster of a link whose page was never classified (-1 is an outlier page)."""

UNKNOWN_LINK_PATH = 0
"""Link path id of a link whose place on the page is not known."""

Fold = Callable[[Sequence[int]], list[int]]
"""Gives the ids that link paths are counted under, `LinkPathTable.folded`."""


def cluster_name(cluster: int) -> str:
    """Return the wire name of a persistent cluster id; empty for a page that was never classified."""
    if cluster == UNKNOWN_CLUSTER:
        return ""
    return f"c{cluster}" if cluster >= 0 else "outlier"


@dataclass(slots=True)
class LinkBatch:
    """Links to score, as columns of equal length; rows may come from different pages.

    Examples
    --------
    >>> urls = ["http://a.org/1", "http://a.org/2"]
    >>> batch = LinkBatch(urls, [1, 2], [0, 0], [UNKNOWN_CLUSTER] * 2, [1, 1], [0, 0], ["one", "two"])
    >>> len(batch), batch.rows([1]).anchors
    (2, ['two'])
    """

    urls: Sequence[str]  # absolute URLs
    keys: Sequence[int]  # 64-bit hash of each URL's identity
    link_paths: Sequence[int]  # 64-bit id of each raw link path, `UNKNOWN_LINK_PATH` if not known
    # persistent cluster of the page each link stands on; -1 outlier, `UNKNOWN_CLUSTER` if never classified
    sources: Sequence[int]
    depths: Sequence[int]  # clicks from a seed to the link's target by the path it was found on, >= 0
    # URL pattern of each target, as it was when the target was first seen; 0 for any URL
    patterns: Sequence[int]
    anchors: Sequence[str]  # anchor texts; empty if unknown
    _grouped: Repeated[tuple[int, int]] | None = field(default=None, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.urls)

    def grouped(self, fold: Fold) -> Repeated[tuple[int, int]]:
        """Return pattern and folded link path of each link, few distinct ones; found once."""
        if self._grouped is None:
            self._grouped = Repeated.of(zip(self.patterns, fold(self.link_paths), strict=True))
        return self._grouped

    def group_like(self, known: LinkBatch, rows: Sequence[int], fold: Fold) -> None:
        """Take over the groups of a batch that is these rows of this one."""
        groups, places = known.grouped(fold), np.full(len(self), -1, dtype=np.int64)
        numbers = {group: number for number, group in enumerate(groups.distinct)}
        places[np.array(rows, dtype=np.int64)] = groups.places
        others = np.flatnonzero(places < 0).tolist()
        for row, link_path in zip(others, fold([self.link_paths[row] for row in others]), strict=True):
            places[row] = numbers.setdefault((self.patterns[row], link_path), len(numbers))
        self._grouped = Repeated(list(numbers), places)

    def rows(self, rows: Sequence[int]) -> LinkBatch:
        """Return some rows as a batch of their own."""
        columns = (
            self.urls,
            self.keys,
            self.link_paths,
            self.sources,
            self.depths,
            self.patterns,
            self.anchors,
        )
        urls, keys, link_paths, sources, depths, patterns, anchors = map(picking(rows), columns)
        return LinkBatch(urls, keys, link_paths, sources, depths, patterns, anchors)


@dataclass(frozen=True, slots=True)
class Revisit:
    """What a fetch says of changes of its page."""

    share: float | None  # of its own text that changed since the fetch before, in [0, 1]; None at the first
    rate: float  # changes a day that are believed
    next_s: float | None  # when to fetch it again, in seconds since the epoch; None if nobody said how often


@dataclass(slots=True)
class PageObservation:
    """One fetch as policies see it, after the site model has taken it in."""

    seq: int  # sequence number of the event
    # key, url: identity hash and final URL of the page
    key: int
    url: str
    # requested, requested_url: identity hash of the URL asked for, equal to `key` without redirect; and that
    # identity
    requested: int
    depth: int  # clicks from a seed, as far as known
    pattern: int  # URL pattern of the URL asked for, as it was when that was first seen
    # its in-links: (identity hash of the linking page, link path id), distinct by link path
    contexts: list[tuple[int, int]]
    failed: bool  # no usable page came back (fetch error or status >= 400)
    refetch: bool  # the page was fetched before, or `redirects`: it counts as no fetch of its own
    # template cluster of the page, -1 outlier, `UNKNOWN_CLUSTER` before learning
    cluster: int = UNKNOWN_CLUSTER
    long_chars: int = 0  # characters in long text blocks
    # novel_chars, own_chars, unseen_chars, lost: see `texts.TextChange`
    novel_chars: int = 0
    own_chars: int = 0
    lost: dict[int, int] = field(default_factory=dict)
    # what the thing that it is about adds to its own text (`texts.THING_CHARS`), and what others lose by it
    thing_chars: int = 0
    thing_lost: dict[int, int] = field(default_factory=dict)
    # outlinks that belong to the crawl
    links: LinkBatch = field(default_factory=lambda: LinkBatch([], [], [], [], [], [], []))
    # for each row of `links`: long text blocks of the page before the anchor
    blocks_before: list[int] = field(default_factory=list)
    paths: PathTrie = field(default_factory=PathTrie)  # tag paths of the page
    # is_copy, canonical: the page names another URL as its canonical form; and the identity hash of that,
    # else its own
    is_copy: bool = False
    # for each row of `links`: its target was never seen before this page
    fresh: list[bool] = field(default_factory=list)
    # for each row of `links`: the first by which the page is a remembered source of an unfetched target
    first_here: list[bool] = field(default_factory=list)
    # (source, link path) in-links of unfetched targets that were given up for those of the page
    displaced: list[tuple[int, int]] = field(default_factory=list)
    # reward of feedback that came before the page, None if none did; policies are told by `feedback`
    reported: float | None = None
    # for each row of `links`: the kind of page link it is, 0 if none, see `pagination.anchors`; empty unless
    # the policy reads layouts
    page_links: list[int] = field(default_factory=list)
    # records and link groups of the page, for each row of `links`; None if they were not extracted
    layout: list[float] | None = None
    requested_url: str = ""
    canonical: int = 0
    noindex: bool = False  # its owner keeps it out of searches
    words: PageWords | None = None  # words of the page; None if they were not read
    unseen_chars: int = 0
    # its head sends browsers at once to a URL of the crawl that nobody knew: that takes its place
    redirects: bool = False
    # what it says of changes of the page; None unless the crawl fetches pages again
    revisit: Revisit | None = None


@dataclass(slots=True)
class FeedbackObservation:
    """What extraction found on a page."""

    seq: int  # sequence number of the event
    # key, url: identity hash and URL of the page
    key: int
    url: str
    # pattern, contexts: as in `PageObservation`
    pattern: int
    contexts: list[tuple[int, int]]
    reward: float  # worth in [0, 1]


@dataclass(frozen=True, slots=True)
class SiteWarning:
    """What goes wrong with a crawl of a site."""

    kind: str  # A word of letters and underscores; the same while it stays so
    text: str  # what it is, in figures, and what to do about it; one sentence


@dataclass(frozen=True, slots=True)
class ExamplePage:
    """An example of a wanted page."""

    url: str = ""  # absolute URL; empty if only the page itself is known
    key: str = ""  # identity of the URL, empty without URL
    page_type: str = ""  # what the crawler calls pages like it; for people and reports
    # tag paths of the page; without leaves if only the URL was given: then they are taken when the page is
    # fetched
    paths: PathTrie = field(default_factory=PathTrie)


@dataclass(frozen=True, slots=True)
class ExampleWanted:
    """A fetched page that somebody should say of whether it is wanted."""

    url: str  # absolute URL
    reason: str  # why it, in words
    value: float  # what an answer would teach, in [0, 1)
    pages: int  # fetched pages that are like it, itself included
    label: float | None = None  # how far it is like the examples, in [0, 1]; None without examples


INDEX, THREAD, PAGE_FLIP, OTHER = 1, 2, 3, 4
"""Types of URLs (Jiang 2013, section 3); numbers as in the wire contract, 0 is not known."""

INDEX_PAGE, THREAD_PAGE, OTHER_PAGE, ENTRY_PAGE = 1, 2, 3, 4
"""Types of pages (Jiang 2013, section 3); numbers as in the wire contract, 0 is not known."""


@dataclass(frozen=True, slots=True)
class UrlRule:
    """URLs of one kind, by regular expression."""

    # ``index``, ``thread``, ``index_flip``, ``thread_flip``, ``page_flip`` or ``news``; of URLs not to fetch
    # ``copy``, and ``void_key`` of those that have a query key which changes nothing
    kind: str
    # RE2 expression, anchored by ``^`` (and ``$`` unless it is a prefix), that fits raw and canonical URLs
    pattern: str
    confidence: float = 1.0  # how sure the policy is, [0, 1]
    # match_count, total_count: URLs it was learned from that fit, of how many
    match_count: int = 0
    total_count: int = 0
    example_url: str = ""  # A URL that fits; empty if none is kept


@dataclass(frozen=True, slots=True)
class SeedWanted:
    """A page to start a crawl of the site from: URL, why in words, and worth in [0, 1]."""

    url: str
    reason: str
    value: float


@dataclass(slots=True)
class SentPage:
    """A page as it was sent, for a limit to read what it goes by.

    `fetched_bytes`: bytes that came over the network. `url`: the URL asked for. `headers`: name and value of
    each header that the crawler sent. `body`, `content_encoding`: what came, and how it is compressed.
    `kind`: name of its reader, empty for a page as any other.
    """

    fetched_bytes: int
    url: str = ""
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    content_encoding: str = ""
    kind: str = ""
