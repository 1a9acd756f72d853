"""All that is known of the layout of one page, for those who measure it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log1p, sqrt

from linkscore_scoring.features.layout.moments import find_moments
from linkscore_scoring.features.layout.regions import LinkGroups, Regions, find_regions
from linkscore_scoring.features.layout.text_blocks import Blocks, boilerplate, text_blocks
from linkscore_scoring.features.layout.tree import PageTree
from linkscore_scoring.features.types import Links
from linkscore_scoring.sums import left_sum

_PERSON = re.compile(r"user|member|profile|author|people|[?&;]u=", re.IGNORECASE)


@dataclass(slots=True)
class PageView:
    """One page as a tree, with what was found in it. All positions are of content, not of boilerplate.

    Attributes
    ----------
    tree
        The elements.
    around
        Whether each element is boilerplate.
    regions, groups
        Regions of records, and the group of each row of `links`; of the whole page.
    blocks
        Text blocks.
    moments
        (number of texts before it, minutes) of each point in time.
    links, anchors, key
        The links of the page, the anchor of each row, and the identity of the page.
    rows
        Rows of `links` in the content.
    own
        Rows that lead to a place on this page, by an id of it, or to the page itself.
    inner
        Of these: those to a place on it, and the anchors that are not rows, since they name only a fragment.
    people
        Rows whose URL says that a person is at its end.
    """

    tree: PageTree
    around: list[bool]
    regions: Regions
    groups: LinkGroups
    blocks: Blocks
    moments: list[tuple[int, float]]
    links: Links
    anchors: Sequence[int]
    key: str
    rows: list[int] = field(default_factory=list)
    own: set[int] = field(default_factory=set)
    inner: list[int] = field(default_factory=list)
    people: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, tree: PageTree, links: Links, anchors: Sequence[int], key: str) -> PageView:
        """Look at a page; `anchors` are the numbers of the anchors that are rows of `links`."""
        around = boilerplate(tree)
        regions = find_regions(tree, around)
        moments = [(at, m) for at, m in find_moments(tree) if not _is_around(tree, around, at)]
        groups = LinkGroups(tree, regions, anchors)
        view = cls(tree, around, regions, groups, text_blocks(tree, around), moments, links, anchors, key)
        view._sort_links()
        return view

    def element(self, row: int) -> int:
        """Return the element of a link."""
        return self.tree.anchor_nodes[self.anchors[row]]

    def text_of(self, row: int) -> int:
        """Return how many texts stand before a link."""
        return self.tree.first_texts[self.element(row)]

    def main_record(self, row: int) -> int:
        """Return the record of the main region a link stands in, -1 if it stands in none."""
        node = self.element(row)
        is_main = self.regions.has_main and self.regions.region_of[node] == 0
        return self.regions.record_of[node] if is_main else -1

    def _sort_links(self) -> None:
        tree, urls = self.tree, self.links.urls
        self.rows = [row for row in range(len(urls)) if not self.around[self.element(row)]]
        row_of = {self.anchors[row]: row for row in self.rows}
        for anchor, (node, href) in enumerate(zip(tree.anchor_nodes, tree.hrefs, strict=True)):
            row = row_of.get(anchor, -1)
            if self.around[node] or (row < 0 and not href.startswith("#")):
                continue
            place = href.partition("#")[2] or href.rstrip("/").rpartition("/")[2]
            if place and place in tree.ids:
                self.inner.append(anchor)
                self.own |= {row} - {-1}
        self.own |= {row for row in self.rows if self.links.keys[row] == self.key}
        self.people = {row for row in self.rows if _names_person(urls[row])} - self.own


def _names_person(url: str) -> bool:
    path = url.find("/", len("https://"))
    return path >= 0 and _PERSON.search(url, path) is not None


def _is_around(tree: PageTree, around: Sequence[bool], text: int) -> bool:
    return text < len(tree.text_nodes) and around[tree.text_nodes[text]]


def ratio(part: float, whole: float) -> float:
    """Return a share, 0 of nothing."""
    return part / whole if whole else 0.0


def spread(name: str, values: Sequence[float]) -> dict[str, float]:
    """Return ln(1 + x) of the largest value, of the mean and of the standard deviation."""
    if not values:
        return {f"{name}_max": 0.0, f"{name}_avg": 0.0, f"{name}_sd": 0.0}
    mean = left_sum(values) / len(values)
    deviation = sqrt(left_sum((value - mean) ** 2 for value in values) / len(values))
    return {f"{name}_max": log1p(max(values)), f"{name}_avg": log1p(mean), f"{name}_sd": log1p(deviation)}


def median(values: Sequence[float]) -> float:
    """Return the upper median."""
    return sorted(values)[len(values) // 2] if values else 0.0
