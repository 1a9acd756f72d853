"""Groups of a crawl's sites: each is a crawl model of its own, with a log of its own; see ADR 20."""

from __future__ import annotations

from typing import NamedTuple

from linkscore_scoring.hashing import hash_of

MARK = "@"
"""Stands in the names of shards, and in that of no crawl."""
_OF = "-of-"


class Shard(NamedTuple):
    """One group of a crawl: what one process owns, one log holds and one model knows.

    Examples
    --------
    >>> Shard("books", 3, 8).key
    'books@3-of-8'
    >>> Shard.of("books@3-of-8")
    Shard(crawl='books', group=3, groups=8)
    >>> Shard.of("books") == Shard("books") and Shard("books").key == "books"
    True
    """

    crawl: str
    group: int = 0
    groups: int = 1

    @property
    def key(self) -> str:
        """Name among shards: that of the crawl if it has one group; no crawl is called like the others."""
        return self.crawl if self.groups == 1 else f"{self.crawl}{MARK}{self.group}{_OF}{self.groups}"

    @classmethod
    def of(cls, key: str) -> Shard:
        """Return the shard of a key."""
        crawl, mark, part = key.partition(MARK)
        group, _, groups = part.partition(_OF)
        return cls(crawl, int(group), int(groups)) if mark else cls(crawl)


def shards_of(crawl: str, groups: int) -> list[Shard]:
    """Return all shards of a crawl, in order."""
    return [Shard(crawl, group, groups) for group in range(groups)]


def group_of(site: str, groups: int) -> int:
    """Return the group of a site, by the hash that its tickets carry: the same everywhere and for ever.

    Examples
    --------
    >>> [group_of(site, 8) for site in ("a.example", "b.example", "c.example:8080")]
    [6, 3, 7]
    """
    return hash_of(site) % groups
