"""From the anchors of a page to its links: where they lead, and which link paths are told apart."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate

from linkscore_scoring.columns import picking
from linkscore_scoring.features.markup import MAX_LINK_PATH_CHARS, Step
from linkscore_scoring.features.types import Limits, Links
from linkscore_scoring.features.walk import PageWalk
from linkscore_scoring.urls.resolve import UrlResolver

MAX_LINK_PATHS = 2_000
"""Distinct link paths told apart on one page; a bound for hostile pages, the others are one link path."""

MAX_LINK_PATHS_CHARS = 500_000
"""Characters of all link paths of one page; the largest of 400 stored pages has 6,400."""

MAX_LINKS_CHARS = 1_000_000
"""Characters of all URLs of a page, from where links are cut: a long ``<base href>`` would make 20 MB of
10,000 short links. The largest of 400 stored pages has 135,000."""

OTHER_LINK_PATH = "a[]"
"""What stands for the link paths that are not told apart."""


class PageLinkPaths:
    """The distinct link paths of a page, within bounds.

    `is_cut`: some were not told apart.
    """

    def __init__(self) -> None:
        self.is_cut = False
        self._rows: dict[str, int] = {}
        self._chars = 0

    @property
    def texts(self) -> list[str]:
        """The link paths, by row."""
        return list(self._rows)

    @property
    def is_full(self) -> bool:
        """Whether link paths not known yet are one."""
        return len(self._rows) >= MAX_LINK_PATHS or self._chars > MAX_LINK_PATHS_CHARS

    def row(self, link_path: str) -> int:
        """Return the row of a link path, which may be that of all others."""
        found = self._rows.get(link_path)
        if found is not None:
            return found
        if self.is_full or len(link_path) > MAX_LINK_PATH_CHARS:
            self.is_cut = True
            link_path = OTHER_LINK_PATH
        self._chars += len(link_path)
        return self._rows.setdefault(link_path, len(self._rows))


@dataclass(frozen=True, slots=True)
class Anchors:
    """The anchors of a page as columns, in document order: what either reader gives.

    `hrefs`, `texts`, `rels`, `blocks_before`: as `Links` has them; hrefs as written. `link_paths`: index
    into `link_path_table`. `is_cut`, `link_paths_cut`: the page has more anchors, or more link paths than
    are told apart.
    """

    hrefs: list[str]
    texts: list[str]
    rels: list[str]
    blocks_before: list[int]
    link_paths: list[int]
    link_path_table: list[str]
    is_cut: bool
    link_paths_cut: bool


def anchors_of(walk: PageWalk, limits: Limits) -> Anchors:
    """Return the anchors a walk met."""
    tags, nodes = walk.anchors[: limits.links], walk.nodes[: limits.links]
    table = PageLinkPaths()
    rows: dict[tuple[int, Step], int] = {}
    row_of: dict[int, int] = {}
    for node in dict.fromkeys(
        nodes
    ):  # many anchors share a node of the tree, and several nodes one link path
        place = (walk.paths.outer(node, limits.depth), walk.paths.steps[node])
        if place not in rows:
            rows[place] = table.row("" if table.is_full else walk.paths.link_path(node, limits.depth))
        row_of[node] = rows[place]
    return Anchors(
        [tag.href for tag in tags],
        walk.anchor_texts(limits.links),
        [tag.rel for tag in tags],
        walk.blocks_before(limits.links),
        [row_of[node] for node in nodes],
        table.texts,
        len(walk.anchors) > limits.links,
        table.is_cut,
    )


def outlinks(anchors: Anchors, resolver: UrlResolver) -> tuple[Links, list[int], bool]:
    """Return the links of a page, the number of each one's anchor, and whether links were cut."""
    answers = resolver.resolve_all(anchors.hrefs, MAX_LINKS_CHARS)
    numbers = [number for number, answer in enumerate(answers) if not isinstance(answer, str)]
    skipped = Counter(answer for answer in answers if isinstance(answer, str))
    pick = picking(numbers)
    urls = [url for url, _ in pick(answers)]
    within = len(urls)
    if sum(map(len, urls)) > MAX_LINKS_CHARS:
        within = bisect_right(list(accumulate(map(len, urls))), MAX_LINKS_CHARS)
        pick = picking(numbers[:within])
    rows = pick(anchors.link_paths)
    of_links = {row: number for number, row in enumerate(dict.fromkeys(rows))}
    links = Links(
        urls[:within],
        [key for _, key in pick(answers)],
        pick(anchors.texts),
        list(map(of_links.__getitem__, rows)),
        pick(anchors.rels),
        pick(anchors.blocks_before),
        [anchors.link_path_table[row] for row in of_links],
        skipped,
    )
    return links, numbers[:within], anchors.is_cut or within < len(urls)
