"""Pages as clusterers see them: what is on a page, where it links, and how it is linked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.hashing import hash64

Link = tuple[int, int, int]
"""Link path id, class-free link path id, identity hash of the target."""

InLink = tuple[int, int]
"""Identity hash of the linking page, link path id."""


@dataclass(frozen=True, slots=True)
class SamplePage:
    """A page to cluster or to classify.

    `key`: identity of its URL. `paths`: its tag paths. `links`: its distinct links within the crawl; read
    when a sample is clustered, not when a page is classified. `in_links`: distinct known links that lead to
    it; `with_in_links` finds those of a sample.
    """

    key: str
    paths: PathTrie
    links: Sequence[Link] = ()
    in_links: Sequence[InLink] = ()

    @property
    def hash(self) -> int:
        """Identity hash, by which links name their targets."""
        return hash64(self.key)


def with_in_links(pages: Sequence[SamplePage], sources: Sequence[SamplePage]) -> list[SamplePage]:
    """Return the pages with the links of `sources` that lead to them added to what is known.

    Links of a page to itself say nothing and are left out. Cost O(links).
    """
    found: defaultdict[int, dict[InLink, None]] = defaultdict(dict)
    hashes = [page.hash for page in pages]
    wanted = frozenset(hashes)
    for source in sources:
        origin = source.hash
        for link_path, _, target in source.links:
            if target in wanted and target != origin:
                found[target][origin, link_path] = None
    return [
        replace(page, in_links=list(dict.fromkeys([*page.in_links, *found[hash_]])))
        for page, hash_ in zip(pages, hashes, strict=True)
    ]
