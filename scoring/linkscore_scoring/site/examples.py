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
