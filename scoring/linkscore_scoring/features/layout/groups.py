"""Groups of links: links of one column of a region, or of one place outside of all regions."""

from __future__ import annotations

from collections.abc import Sequence

from linkscore_scoring.features.layout.regions import Regions
from linkscore_scoring.features.layout.tree import PageTree, class_names

MAX_GROUPS = 500
_MAX_ORDINAL = 3
_MAX_STEPS = 40
_OTHER = "other"


class LinkGroups:
    """The group of each link.

    A column is the element path from the record to the ``a``, with the classes of the last two steps (digits
    as ``#``) and, of links with equal paths in one record, which it is: first, second, third or later.
    Outside of regions a group is the same path from the root.

    Attributes
    ----------
    rows
        Index into `table` of each link.
    table
        Distinct groups as text; the same place on another page of the template has the same text.
    """

    def __init__(self, tree: PageTree, regions: Regions, anchors: Sequence[int]) -> None:
        self.rows: list[int] = []
        known: dict[str, int] = {}
        seen: dict[tuple[int, int, str], int] = {}
        for anchor in anchors:
            node = tree.anchor_nodes[anchor]
            region, record = regions.region_of[node], regions.record_of[node]
            if region < 0:
                name = f"page|{_path(tree, node, 0)}"
            else:
                found = regions.found[region]
                path = _path(tree, node, found.records[record])
                nth = seen[region, record, path] = seen.get((region, record, path), -1) + 1
                name = f"{found.name}|{path}|{min(nth, _MAX_ORDINAL - 1)}"
            if name not in known and len(known) >= MAX_GROUPS:
                name = _OTHER
            self.rows.append(known.setdefault(name, len(known)))
        self.table = list(known)


def _path(tree: PageTree, node: int, top: int) -> str:
    """Return the path below `top` down to `node`, itself included; of very long ones the last steps."""
    steps: list[str] = []
    while node != top and len(steps) < _MAX_STEPS:
        step = tree.steps[node]
        classes = ".".join(("", *class_names(step.classes))) if len(steps) < 2 else ""
        steps.append(step.name + classes)
        node = tree.parents[node]
    return "/".join(reversed(steps))
