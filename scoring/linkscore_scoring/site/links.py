"""Outlinks in the form site models and policies read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat

UNKNOWN_CLUSTER = -2
"""Source cluster of a link whose page was never classified (-1 is an outlier page)."""

UNKNOWN_APATH = 0
"""Apath id of a link whose place on the page is not known."""


@dataclass(slots=True)
class LinkBatch:
    """Links to score, as columns of equal length; rows may come from different pages.

    Attributes
    ----------
    urls
        Absolute URLs.
    keys
        64-bit hash of each URL's identity.
    apaths
        64-bit id of each raw Apath, `UNKNOWN_APATH` if not known.
    sources
        Persistent cluster of the page each link stands on; -1 outlier, `UNKNOWN_CLUSTER` if never classified.
    depths
        Clicks from a seed to the link's target along the way it was found, >= 0.
    anchors
        Anchor texts; empty if unknown.
    """

    urls: Sequence[str]
    keys: Sequence[int]
    apaths: Sequence[int]
    sources: Sequence[int]
    depths: Sequence[int]
    anchors: Sequence[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.urls)


def links_of_page(
    urls: Sequence[str], keys: Sequence[int], apaths: Sequence[int], anchors: Sequence[str], *, source: int, depth: int
) -> LinkBatch:
    """Return the batch of one page's links: one source cluster, one depth."""
    n = len(urls)
    return LinkBatch(urls, keys, apaths, list(repeat(source, n)), list(repeat(depth, n)), anchors)


@dataclass(slots=True)
class PageObservation:
    """One fetch as policies see it, after the site model has taken it in.

    Attributes
    ----------
    seq
        Sequence number of the event, from 1.
    key, url
        Identity hash and final URL of the page.
    depth
        Clicks from a seed, as far as known.
    cluster
        Template cluster of the page, -1 outlier, `UNKNOWN_CLUSTER` before learning.
    failed
        No usable page came back (fetch error or status >= 400).
    refetch
        The page was fetched before.
    contexts
        Apath ids of all links through which the page is known, distinct.
    long_chars, novel_chars
        Characters in long text blocks, and those in blocks never seen before on the site.
    text_chars, anchor_chars
        Displayed characters outside and inside anchors.
    canonical
        The page names no other page as its canonical form.
    links
        Its outlinks.
    fresh
        For each row of `links`: the target was never seen before this page.
    """

    seq: int
    key: int
    url: str
    depth: int
    cluster: int
    failed: bool
    refetch: bool
    contexts: list[int]
    long_chars: int
    novel_chars: int
    text_chars: int
    anchor_chars: int
    canonical: bool
    links: LinkBatch
    fresh: list[bool]


@dataclass(slots=True)
class FeedbackObservation:
    """What extraction found on a page.

    Attributes
    ----------
    seq
        Sequence number of the event.
    key, url
        Identity hash and URL of the page.
    contexts
        Apath ids of all links through which the page is known.
    reward
        Worth in [0, 1].
    """

    seq: int
    key: int
    url: str
    contexts: list[int]
    reward: float
