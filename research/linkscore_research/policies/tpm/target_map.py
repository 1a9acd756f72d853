"""How a site is walked from its entry to pages like an example: target page map and navigation pattern.

Source: Vidal 2006, section 4; the map is the TPM of the paper.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from linkscore_research.policies.tpm.url_shapes import UrlShape, url_shape, url_similar
from linkscore_scoring.state import Stateful, Stored

OFF = 0
"""Step of a link that leads off the path."""


@dataclass(frozen=True, slots=True)
class NavigationPattern:
    """The shapes of the clicks, entry first, and how many pages of the map the last one leads to.

    Step j = 1, ..., n is the click with shape j; the entry is at step 0.
    """

    shapes: list[UrlShape] = field(default_factory=list)
    targets: int = 0

    def __len__(self) -> int:
        return len(self.shapes)

    def step(self, url: str, *, after: Collection[int] | None = None) -> int:
        """Return the last step whose shape a URL has, `OFF` if it has none."""
        for step in range(len(self.shapes), 0, -1):
            if (after is None or step - 1 in after) and self.shapes[step - 1].matches(url):
                return step
        return OFF


MAX_PAGES = 2_000
"""Pages of a map; the upper bound of `mapping_pages`."""

ENTRY = -1
"""Parent of the pages a crawl starts from."""


@dataclass(slots=True)
class MapPage:
    """A page of the map: identity hash, URL, number of the page it was first found on, and what it is."""

    key: int
    url: str
    parent: int
    target: bool = False


class TargetMap(Stateful):
    """Pages in the order fetched, each below the page that first linked to it.

    Links of target pages are not walked: what only they link to has no place in the map.

    Bounded by `MAX_PAGES` and by what the caller of `add` allows; pages and links beyond are left out.
    """

    pages: Stored[list[MapPage]]
    _found_on: Stored[dict[int, int]]

    def __init__(self) -> None:
        self.pages, self._found_on = [], {}
        self._numbers: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.pages)

    @property
    def targets(self) -> int:
        """Target pages found."""
        return sum(page.target for page in self.pages)

    def found_on(self, key: int) -> int | None:
        """Return the number of the page that first linked to a URL, None if no page of the map did."""
        return self._found_on.get(key)

    def add(self, page: MapPage, links: Sequence[int], *, max_links: int) -> None:
        """Take in a fetched page with the identity hashes of its links; at most `max_links` of both."""
        if len(self.pages) >= min(MAX_PAGES, max_links) or page.key in self._numbers:
            return
        number = self._numbers[page.key] = len(self.pages)
        self.pages.append(page)
        if not page.target:
            for key in links:
                if len(self._found_on) >= max_links:
                    break
                self._found_on.setdefault(key, number)

    def number(self, key: int) -> int | None:
        """Return the number of a page of the map."""
        return self._numbers.get(key)

    def navigation_pattern(self, *, max_differing: int = 2) -> NavigationPattern:
        """Return the path that ends at the most target pages; no shapes if no target was found.

        Pages on the path to targets are merged from the entry down: the pages below one group are parted by
        `url_similar`, each part becomes a group with one `url_shape`. Of paths that end at equally many
        targets the shorter counts, then the one found first.

        Notes
        -----
        Cost O(pages x groups x URL). Source: Vidal 2006, section 4.2. Difference from the paper: likeness is
        not transitive, so a page joins the first part whose first page it resembles.
        """
        below = self._below_entry()
        best = NavigationPattern()
        level = [(below.get(ENTRY, []), list[UrlShape]())]
        while level:
            groups = [(part, path) for pages, path in level for part in self._parts(pages, max_differing)]
            level = []
            for part, path in groups:
                shapes = [*path, url_shape(self.pages[number].url for number in part)]
                targets = sum(self.pages[number].target for number in part)
                if targets > best.targets:
                    best = NavigationPattern(shapes, targets)
                level.append(([child for number in part for child in below.get(number, [])], shapes))
        return best

    def _below_entry(self) -> dict[int, list[int]]:
        """Return the children of every page on a path to a target; those of the starts are at `ENTRY`."""
        below: dict[int, list[int]] = {}
        wanted = [page.target for page in self.pages]
        for number in range(len(self.pages) - 1, -1, -1):
            parent = self.pages[number].parent
            if wanted[number] and parent != ENTRY:
                wanted[parent] = True
                start = self.pages[parent].parent == ENTRY
                below.setdefault(ENTRY if start else parent, []).insert(0, number)
        return below

    def _parts(self, pages: Sequence[int], max_differing: int) -> list[list[int]]:
        parts: list[list[int]] = []
        for number in pages:
            url = self.pages[number].url
            for part in parts:
                if url_similar(self.pages[part[0]].url, url, max_differing=max_differing):
                    part.append(number)
                    break
            else:
                parts.append([number])
        return parts

    def after_load(self) -> None:
        """Number the pages."""
        self._numbers = {page.key: number for number, page in enumerate(self.pages)}
