"""iRobot's sitemap: kinds of pages, which are informative, and the tree of links to follow (Cai 2008)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkscore_research.policies.irobot.arborescence import maximum_arborescence
from linkscore_scoring.columns import left_sum

Vertex = tuple[int, int]
"""A kind of page: its template cluster and its URL pattern."""

Place = tuple[int, int]
"""A kind of link on a page: the URL pattern of its target and its link path."""

MAX_VERTICES = 100
"""Kinds of pages of a sitemap; those with the fewest pages are left out. A bound of work."""

# Share of the pages that links of a place lead to which show such links too. The paper names connectivity and
# no figure; chosen, not measured.
_CONNECTED = 0.5


@dataclass(frozen=True, slots=True)
class MapEntry:
    """A sampled page: identity hash, kind, characters of long text, no duplicate, links (place, target)."""

    key: int
    vertex: Vertex
    chars: int
    unique: bool
    links: Sequence[tuple[Place, int]]


@dataclass(frozen=True, slots=True)
class KeptArc:
    """Links to follow: from pages of a cluster, of a place; `worth` in [0, 1]; `flip` if they turn pages."""

    source: int
    place: Place
    target: Vertex
    worth: float
    flip: bool


@dataclass(slots=True)
class _PlaceLinks:
    """The links of one place on pages of one kind: distinct targets, and the kinds of those sampled."""

    targets: set[int] = field(default_factory=set)
    kinds: Counter[int] = field(default_factory=Counter)


class Sitemap:
    """The graph of page kinds of a sample.

    Notes
    -----
    An arc joins two kinds by the links of one place whose sampled targets are mostly of the second kind; its
    weight is the number of distinct targets, sampled or not. Of several places that join the same kinds the
    heaviest counts. Cost O(links).
    """

    def __init__(self, pages: Sequence[MapEntry]) -> None:
        sizes = Counter(page.vertex for page in pages)
        order = [pages[0].vertex, *(vertex for vertex, _ in sizes.most_common())] if pages else []
        self.vertices = list(dict.fromkeys(order))[:MAX_VERTICES]
        self._numbers = {vertex: number for number, vertex in enumerate(self.vertices)}
        self._pages = [page for page in pages if page.vertex in self._numbers]
        self._kinds = {page.key: self._numbers[page.vertex] for page in self._pages}
        self._links = self._counted()

    def _counted(self) -> dict[tuple[int, Place], _PlaceLinks]:
        found: dict[tuple[int, Place], _PlaceLinks] = {}
        for page in self._pages:
            for place, target in page.links:
                links = found.setdefault((self._numbers[page.vertex], place), _PlaceLinks())
                if target not in links.targets:
                    links.targets.add(target)
                    kind = self._kinds.get(target)
                    if kind is not None and target != page.key:
                        links.kinds[kind] += 1
        return found

    def arcs(self) -> dict[tuple[int, int], tuple[int, Place]]:
        """Return the heaviest arc between two different kinds by their numbers: weight and place."""
        best: dict[tuple[int, int], tuple[int, Place]] = {}
        for (source, place), links in self._links.items():
            target = _most(links.kinds)
            if target is None or target == source:
                continue
            weight = len(links.targets)
            if (source, target) not in best or weight > best[source, target][0]:
                best[source, target] = weight, place
        return best

    def informativeness(self) -> Vector:
        """Return the informativeness of the kinds, (n,) float64."""
        groups: list[list[MapEntry]] = [[] for _ in self.vertices]
        for page in self._pages:
            groups[self._numbers[page.vertex]].append(page)
        return informativeness(
            [len(group) for group in groups],
            [sum(page.chars for page in group) / len(group) for group in groups],
            [sum(page.unique for page in group) / len(group) for group in groups],
        )

    def kept(
        self, *, coverage: float, flip_shares: Mapping[Place, float], flip_share: float
    ) -> list[KeptArc]:
        """Return the arcs to follow: the spanning tree down to informative kinds, and page-flipping.

        The tree is the maximum arborescence from the entry; of it stay the paths to the most informative
        kinds that cover a share `coverage` of the pages. Links between pages of one such kind are kept if
        `flip_share` of their anchors flip pages (`flip_shares`) and half of the pages they lead to show such
        links too.
        """
        if not self._pages:
            return []
        arcs, info = self.arcs(), self.informativeness()
        parents = maximum_arborescence(0, {arc: float(weight) for arc, (weight, _) in arcs.items()})
        sizes = Counter(self._kinds.values())
        wanted = most_informative(info, [sizes[n] for n in range(len(self.vertices))], coverage)
        worth = _worth(info, wanted, parents)
        tree = [
            self._kept(parents[v], arcs[parents[v], v][1], v, worth[v], flip=False)
            for v in sorted(parents)
            if v in worth
        ]
        flips = [
            self._kept(source, place, source, worth[source], flip=True)
            for (source, place), links in self._links.items()
            if source in worth and self._flips(source, place, links, flip_shares.get(place, 0.0), flip_share)
        ]
        return tree + flips

    def _kept(self, source: int, place: Place, target: int, worth: float, *, flip: bool) -> KeptArc:
        return KeptArc(self.vertices[source][0], place, self.vertices[target], worth, flip)

    def _flips(self, source: int, place: Place, links: _PlaceLinks, share: float, asked: float) -> bool:
        """Say whether the links of a place turn the pages of one kind: by anchors, and by connectivity."""
        if share < asked or _most(links.kinds) != source:
            return False
        there = [page for page in self._pages if page.key in links.targets]
        showing = sum(any(other == place for other, _ in page.links) for page in there)
        return showing >= _CONNECTED * len(there)


def _most(kinds: Counter[int]) -> int | None:
    return min(kinds, key=lambda kind: (-kinds[kind], kind)) if kinds else None


def _worth(info: Vector, wanted: set[int], parents: Mapping[int, int]) -> dict[int, float]:
    """Return the worth of wanted kinds in [0, 1], and of those on the path to them: half for each click.

    The entry is always on the path.
    """
    low, high = float(info.min()), float(info.max())
    worth = {0: 0.0}
    for kind in sorted(wanted):
        value = (float(info[kind]) - low) / (high - low) if high > low else 1.0
        at: int | None = kind
        while at is not None and (kind in parents or kind == 0):
            worth[at] = max(worth.get(at, 0.0), value)
            at, value = parents.get(at), value / 2.0
    return worth


Vector = NDArray[np.float64]


def informativeness(sizes: ArrayLike, mean_chars: ArrayLike, unique: ArrayLike) -> Vector:
    """Return how informative each kind of page is, (n,) float64: many pages, long texts, few duplicates.

    I(v) = z(ln |v|) + z(ln (1 + mean characters)) + z(share of pages that are no duplicates), where z is the
    standard score over the kinds, 0 where all are alike.

    Notes
    -----
    The paper names the three terms; formula and equal weights are ours, as its own are not published.
    """
    logs = np.log(np.asarray(sizes, dtype=np.float64)), np.log1p(np.asarray(mean_chars, dtype=np.float64))
    return _z(logs[0]) + _z(logs[1]) + _z(np.asarray(unique, dtype=np.float64))


def most_informative(info: Vector, sizes: Sequence[int], coverage: float) -> set[int]:
    """Return the most informative kinds that together hold a share `coverage` of all pages."""
    chosen: set[int] = set()
    covered, asked = 0, coverage * left_sum(sizes)
    for kind in np.argsort(-info, kind="stable").tolist():
        if covered >= asked:
            break
        chosen.add(kind)
        covered += sizes[kind]
    return chosen


def _z(values: Vector) -> Vector:
    spread = float(values.std()) if len(values) else 0.0
    return (values - values.mean()) / spread if spread > 1e-12 else np.zeros_like(values)
