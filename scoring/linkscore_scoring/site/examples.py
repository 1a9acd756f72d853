"""Pages a crawl was shown as examples of what it is for."""

from __future__ import annotations

from dataclasses import dataclass, field

from linkscore_scoring.features.types import PathTrie


@dataclass(frozen=True, slots=True)
class ExamplePage:
    """An example of a wanted page.

    Attributes
    ----------
    url
        Absolute URL; empty if only the page itself is known.
    key
        Identity of the URL, empty without URL.
    page_type
        What the crawler calls pages like it; for people and reports.
    paths
        Tag paths of the page; without leaves if only the URL was given: then they are taken when the page is
        fetched.
    """

    url: str = ""
    key: str = ""
    page_type: str = ""
    paths: PathTrie = field(default_factory=PathTrie)


@dataclass(frozen=True, slots=True)
class ExampleWanted:
    """A fetched page that somebody should say of whether it is wanted.

    Attributes
    ----------
    url
        Absolute URL.
    reason
        Why it, in words.
    value
        What an answer would teach, in [0, 2): above 1 if its likeness to the examples is in doubt.
    pages
        Fetched pages that are like it, itself included.
    label
        How far it is like the examples, in [0, 1]; None without examples.
    """

    url: str
    reason: str
    value: float
    pages: int
    label: float | None = None
