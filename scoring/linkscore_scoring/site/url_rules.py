"""What policies learned about URLs, in a form that other tools can obey: learned once, exported anywhere."""

from __future__ import annotations

from dataclasses import dataclass

INDEX, THREAD, PAGE_FLIP, OTHER = 1, 2, 3, 4
"""Types of URLs (Jiang 2013, section 3); numbers as in the wire contract, 0 is not known."""

INDEX_PAGE, THREAD_PAGE, OTHER_PAGE, ENTRY_PAGE = 1, 2, 3, 4
"""Types of pages (Jiang 2013, section 3); numbers as in the wire contract, 0 is not known."""


@dataclass(frozen=True, slots=True)
class UrlRule:
    """URLs of one kind, by regular expression.

    Attributes
    ----------
    kind
        ``index``, ``thread``, ``index_flip``, ``thread_flip``, ``page_flip``, ``news`` or ``behavior``.
    pattern
        RE2 expression, anchored by ``^`` (and ``$`` unless it is a prefix), that fits raw and canonical URLs.
    confidence
        How sure the policy is, [0, 1].
    matches, total
        URLs it was learned from that fit, of how many.
    example
        A URL that fits; empty if none is kept.
    """

    kind: str
    pattern: str
    confidence: float = 1.0
    matches: int = 0
    total: int = 0
    example: str = ""


@dataclass(frozen=True, slots=True)
class SeedWanted:
    """A page to start a crawl of the site from: URL, why in words, and worth in [0, 1]."""

    url: str
    reason: str
    value: float
