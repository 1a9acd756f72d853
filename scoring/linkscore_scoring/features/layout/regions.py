"""Repeated records of a page, in regions of records of one form, and the groups that links form by them.

In place of partial tree alignment (Jiang 2013 after Song 2010): records need no pivot, likeness compares two
levels of tags and classes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from linkscore_scoring.features.layout.tree import PageTree
from linkscore_scoring.features.walk import Step
from linkscore_scoring.sums import left_sum

MAX_COMPARED = 200
"""Records of a region that are compared or measured: a bound of work."""

# Children and grandchildren of a record looked at for its shape; a bound of work.
_MAX_CHILDREN = 30
# An element without link is content from this many characters on; chosen, not measured.
_MIN_TEXT_CHARS = 20
# Mean likeness of neighbouring records from which a region is one. Far below the .75 of MDR (as pydepta has
# it), since two levels of tags and classes are compared and not whole trees; chosen with the stored sites in
# view.
_MIN_SIMILARITY = 0.3
# Tags and classes in a record's shape from which it counts as rich; chosen with the stored sites in view.
_RICH_SHAPE = 6
# Share of the content's text that the main region holds at least: else the page has none. Chosen alike.
_MIN_MAIN_SHARE = 0.1


@dataclass(slots=True)
class Region:
    """Records of one form."""

    records: list[int]  # elements of the page tree, in document order; their subtrees do not overlap
    similarity: float = 0.0  # mean likeness of neighbouring records, [0, 1]
    score: float = 0.0  # how far it looks like what the page is about
    chars: int = 0  # characters of its texts


@dataclass(slots=True)
class Regions:
    """The regions of a page that do not overlap, the main one first if there is one."""

    found: list[Region] = field(default_factory=list)  # the regions
    # For each element: its region in `found` and the ordinal of its record there, -1 outside of all.
    region_of: list[int] = field(default_factory=list)
    record_of: list[int] = field(default_factory=list)
    has_main: bool = False


def find_regions(tree: PageTree, around: Sequence[bool]) -> Regions:
    """Return the regions of a page; those in boilerplate, by `around`, are never the main one.

    Children of an element belong together if they share tag and that class token (digits as ``#``) which most
    of their siblings of the tag have; groups below parents of one path are one region. The main region has
    the most text, weighted by likeness of its records, by how much structure they have, and by 1 - 1 /
    records: sections of a page are few, paragraphs of a text have no structure.
    """
    chars = [0, *accumulate(map(len, tree.texts))]
    candidates = _candidates(tree, chars)
    for region in candidates:
        _rate(tree, region, chars)
    shown = sum(len(text) for text, node in zip(tree.texts, tree.text_nodes, strict=True) if not around[node])
    least = _MIN_MAIN_SHARE * shown
    candidates = [region for region in candidates if region.similarity >= _MIN_SIMILARITY]
    main = max(
        (region for region in candidates if not around[region.records[0]] and region.chars >= least),
        key=lambda region: region.score,
        default=None,
    )
    regions = Regions([], [-1] * len(tree), [-1] * len(tree), main is not None)
    if main is not None:
        _take(tree, regions, main)
    for region in candidates:
        if region is not main and len(region.records) >= 3 and _is_free(tree, regions, region, main):
            _take(tree, regions, region)
    return regions


def _candidates(tree: PageTree, chars: Sequence[int]) -> list[Region]:
    """Return groups of like siblings, two below one parent at least, in document order of their first
    record."""
    children: defaultdict[int, list[int]] = defaultdict(list)  # parents in document order
    for node, parent in enumerate(tree.parents[1:], start=1):
        children[parent].append(node)
    paths, alike = _paths(tree), _Siblings(tree, chars)
    lists = {parent: alike.groups(below) for parent, below in children.items() if len(below) > 1}
    # Most elements are the only child of another: those are looked at where others of the path have siblings.
    merged = {(paths[parent], key): Region([]) for parent, groups in lists.items()
              for key, records in groups if len(records) > 1}  # fmt: skip
    listed = {path for path, _ in merged}
    found: dict[tuple[int, str], Region] = {}
    for parent, below in children.items():
        path = paths[parent]
        if path not in listed:
            continue
        for key, records in lists.get(parent) or alike.groups(below):
            region = merged.get((path, key))
            if region is not None and records:
                region.records += records
                found[path, key] = region
    return list(found.values())


def _paths(tree: PageTree) -> list[int]:
    """Return a number for the path of each element: tags and classes from the root, digits as ``#``."""
    kinds: dict[tuple[str, tuple[str, ...]], int] = {}
    kind_of = {step: kinds.setdefault((step.name, tree.names[step]), len(kinds)) for step in {*tree.steps}}
    known: dict[tuple[int, int], int] = {}
    paths = [0]
    for parent, step in zip(tree.parents[1:], tree.steps[1:], strict=True):
        paths.append(known.setdefault((paths[parent], kind_of[step]), len(known) + 1))
    return paths


class _Siblings:
    """Groups siblings by tag and the class token that most siblings of the tag share."""

    def __init__(self, tree: PageTree, chars: Sequence[int]) -> None:
        self._steps, self._names = tree.steps, tree.names
        texts = zip(tree.first_texts, tree.last_texts, strict=True)
        anchors = zip(tree.first_anchors, tree.last_anchors, strict=True)
        self._has_content = [
            first < last or chars[end] - chars[start] >= _MIN_TEXT_CHARS
            for (start, end), (first, last) in zip(texts, anchors, strict=True)
        ]
        self._known: dict[tuple[Step, ...], dict[str, list[int]]] = {}

    def groups(self, siblings: Sequence[int]) -> list[tuple[str, list[int]]]:
        """Return the name of each group, and those in it that have content."""
        steps = tuple([self._steps[node] for node in siblings])
        alike = self._known.get(steps)
        if alike is None:
            alike = self._known[steps] = self._alike(steps)
        has_content = self._has_content
        return [
            (key, [node for at in places if has_content[node := siblings[at]]])
            for key, places in alike.items()
        ]

    def _alike(self, steps: Sequence[Step]) -> dict[str, list[int]]:
        """Return the places of each group."""
        counts: Counter[tuple[str, str]] = Counter()
        for step in steps:
            counts.update((step.name, token) for token in self._names[step])
        groups: dict[str, list[int]] = {}
        for at, step in enumerate(steps):
            tokens = self._names[step]
            token = max(tokens, key=lambda token: (counts[step.name, token], "#" not in token), default="")
            groups.setdefault(f"{step.name}.{token}" if token else step.name, []).append(at)
        return groups


def _rate(tree: PageTree, region: Region, chars: Sequence[int]) -> None:
    shapes = [_shape(tree, node) for node in region.records[:MAX_COMPARED]]
    likeness = [len(a & b) / (len(a | b) or 1) if a or b else 1.0 for a, b in pairwise(shapes)]
    region.similarity = left_sum(likeness) / len(likeness) if likeness else 0.0
    richness = min(1.0, sum(map(len, shapes)) / len(shapes) / _RICH_SHAPE)
    held = region.chars = sum(
        chars[tree.last_texts[node]] - chars[tree.first_texts[node]] for node in region.records
    )
    region.score = held * region.similarity * (0.2 + 0.8 * richness) * (1 - 1 / len(region.records))


def _shape(tree: PageTree, node: int) -> frozenset[str]:
    """Return the tags and class tokens of children and grandchildren."""
    found: set[str] = set()
    for child in _children(tree, node):
        _describe(tree, child, "", found)
        for grandchild in _children(tree, child):
            _describe(tree, grandchild, f"{tree.steps[child].name}/", found)
    return frozenset(found)


def _describe(tree: PageTree, node: int, prefix: str, found: set[str]) -> None:
    step = tree.steps[node]
    found.add(prefix + step.name)
    found.update(f"{prefix}{step.name}.{token}" for token in tree.names[step])


def _children(tree: PageTree, node: int) -> Iterable[int]:
    child, n = node + 1, 0
    while child < tree.ends[node] and n < _MAX_CHILDREN:
        yield child
        child, n = tree.ends[child], n + 1


def _is_free(tree: PageTree, regions: Regions, region: Region, main: Region | None) -> bool:
    """Say whether no record lies in a record taken before, or around one of the main region."""
    if any(regions.record_of[node] >= 0 for node in region.records):
        return False
    starts = main.records if main else []
    return not any(
        bisect_left(starts, node) < bisect_left(starts, tree.ends[node]) for node in region.records
    )


def _take(tree: PageTree, regions: Regions, region: Region) -> None:
    number = len(regions.found)
    regions.found.append(region)
    for ordinal, record in enumerate(region.records):
        span = tree.ends[record] - record
        regions.region_of[record : record + span] = [number] * span
        regions.record_of[record : record + span] = [ordinal] * span


# Of links with equal paths in one record the first two are told apart, later ones are one group.
_MAX_ORDINAL = 3
# Steps of a path that is looked at; a bound for hostile pages.
_MAX_STEPS = 40


def link_groups(tree: PageTree, regions: Regions, anchors: Sequence[int]) -> list[int]:
    """Return the number of the group of each link.

    A group is a column of a region: the path from the record, with the classes of the last two steps, and, of
    links with equal paths in one record, which it is. Outside of regions it is the path from the root.
    """
    known: dict[tuple[int, str, int], int] = {}
    seen: Counter[tuple[int, int, str]] = Counter()
    rows = []
    for anchor in anchors:
        node = tree.anchor_nodes[anchor]
        region, record = regions.region_of[node], regions.record_of[node]
        path = _path(tree, node, regions.found[region].records[record] if region >= 0 else 0)
        nth = min(seen[region, record, path], _MAX_ORDINAL - 1) if region >= 0 else 0
        seen[region, record, path] += 1
        rows.append(known.setdefault((region, path, nth), len(known)))
    return rows


def _path(tree: PageTree, node: int, top: int) -> str:
    """Return the path below `top` down to `node`, itself included; of very long ones the last steps."""
    steps: list[str] = []
    while node != top and len(steps) < _MAX_STEPS:
        step = tree.steps[node]
        classes = ".".join(("", *tree.names[step])) if len(steps) < 2 else ""
        steps.append(step.name + classes)
        node = tree.parents[node]
    return "/".join(reversed(steps))
