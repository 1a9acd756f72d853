"""Who measures the layout of pages: the one entry point of the group ``linkscore.layouts``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Protocol

from linkscore_scoring.features.markup import TagTable
from linkscore_scoring.features.types import PageFeatures, PageLayout

GROUP = "linkscore.layouts"


class LayoutReader(Protocol):
    """Finds the records of a page and the groups its links form, and measures what kind of page it is.

    Both ways take the features of the page and the number of the anchor of each row of its links, and give
    the same for the same page.
    """

    def of_tags(
        self, pieces: Iterable[tuple[str, str]], tags: TagTable, page: PageFeatures, anchors: Sequence[int]
    ) -> PageLayout:
        """Return the layout of a page from its tags, each with the text after it (`walk.cut_tags`)."""

    def of_outline(
        self, outline: Mapping[str, Any], page: PageFeatures, anchors: Sequence[int]
    ) -> PageLayout:
        """Return the layout of a page from the outline of a compiled reader."""


@cache
def layout_reader() -> LayoutReader | None:
    """Return who measures layouts; None where nothing that is installed does."""
    found: LayoutReader | None = next((entry.load() for entry in entry_points(group=GROUP)), None)
    return found
