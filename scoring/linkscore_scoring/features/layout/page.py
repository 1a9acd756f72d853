"""The layout of one page, from its serialised tags."""

from __future__ import annotations

from collections.abc import Sequence

from linkscore_scoring.features.layout.signals import measure
from linkscore_scoring.features.layout.tree import PageTree
from linkscore_scoring.features.layout.view import PageView
from linkscore_scoring.features.markup import TagTable
from linkscore_scoring.features.types import Limits, PageFeatures, PageLayout
from linkscore_scoring.features.walk import cut_tags


def page_layout(
    markup: str, tags: TagTable, limits: Limits, page: PageFeatures, anchors: Sequence[int]
) -> PageLayout:
    """Return the layout of a page.

    Parameters
    ----------
    markup
        The page, as `PageWalk.read` takes it.
    tags, limits
        As the walk had them.
    page
        Features of the page; its links are read.
    anchors
        Number of the anchor of each row of `page.links`.

    Notes
    -----
    Cost O(elements + texts + links), with at most 200 records of a region compared; two to three
    times as much as all other features together.
    """
    tree = PageTree(tags)
    tree.read(cut_tags(markup, limits)[0])
    view = PageView.of(tree, page.links, anchors, page.key)
    records = [view.regions.record_of[view.element(row)] for row in range(len(anchors))]
    return PageLayout(list(measure(view).values()), view.groups.rows, view.groups.table, records)
