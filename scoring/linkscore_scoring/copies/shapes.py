"""URL shapes whose pages copy those of another: permalinks, print views, mirrors under another path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.copies.contents import Content
from linkscore_scoring.copies.evidence import Evidence
from linkscore_scoring.state import Stateful, Stored

_MAX_SHAPES, _MAX_PENDING = 2_000, 5_000
"""Hypotheses, and pages whose original is not fetched yet, that are remembered: bounds."""


@dataclass(slots=True)
class CopiedShape:
    """What speaks for the pages of a URL pattern being copies, and of which patterns their originals were."""

    evidence: Evidence = field(default_factory=Evidence)
    originals: Counter[int] = field(default_factory=Counter)


class CopiedShapes(Stateful):
    """URL patterns, with what speaks for their pages being copies of pages of other patterns.

    Each content of a pattern is a try. It agrees if a page of another pattern had shown the content before,
    or is named as its original and shows it when it is fetched; and if that page was found without pages of
    this pattern. A page that names itself as the original does not agree.
    """

    _shapes: Stored[dict[int, CopiedShape]]
    _pending: Stored[dict[int, list[tuple[int, int]]]]

    def __init__(self) -> None:
        self._shapes = {}
        self._pending = {}

    def hypotheses(self) -> Iterator[tuple[int, CopiedShape, float]]:
        """Yield each pattern, what is known of it, and how probable its links lead to copies."""
        for pattern, shape in self._shapes.items():
            yield pattern, shape, self.probability(pattern)

    def probability(self, pattern: int) -> float:
        """Return how probable a link of a pattern leads to a copy: a lower bound, 0 if nothing is known.

        Of two patterns that copy each other one has the originals: the one that is less sure to be copies.
        """
        shape = self._shapes.get(pattern)
        if shape is None or not shape.originals:
            return 0.0
        original = max(shape.originals, key=lambda other: (shape.originals[other], -other))
        own, back = shape.evidence.probability, self._shapes.get(original)
        if back is not None and back.originals[pattern] and back.evidence.probability >= own:
            return 0.0
        return own

    def evidence(self, pattern: int) -> Evidence | None:
        """Return what speaks for a pattern."""
        shape = self._shapes.get(pattern)
        return shape.evidence if shape is not None else None

    def observe(
        self,
        pattern: int,
        page: int,
        number: int,
        content: Content,
        *,
        names: int | None,
        is_found_without: Callable[[int, int], bool],
    ) -> None:
        """Learn from a page that shows a content.

        Parameters
        ----------
        pattern, page
            Of its URL: pattern, and identity hash.
        number, content
            The content, and its number.
        names
            Identity hash of the original that it names, its own if it names itself, None if none.
        is_found_without
            Says of a page by identity hash whether it was found without links on pages of a pattern.
        """
        named = self._pending.pop(page, [])
        for other, shown in named:
            if other != pattern:
                is_copy = shown == number and is_found_without(page, other)
                self._try(other, shown, pattern if is_copy else None)
        if pattern not in content.pages:
            originals = {
                other: first
                for other, first in content.pages.items()
                if other != pattern and is_found_without(first, pattern)
            }
            if names == page or named:
                self._try(pattern, number, None)
            elif originals:
                self._try(pattern, number, next(iter(originals)))
            elif names is None:
                self._try(pattern, number, None)
            else:
                self._pending.setdefault(names, []).append((pattern, number))
                drop_oldest(self._pending, _MAX_PENDING)
        content.pages.setdefault(pattern, page)

    def redirected(self, pattern: int, final: int, to: int, *, found: bool) -> None:
        """Learn from a URL of a pattern that redirected to a page of another: `found` without it or not."""
        if pattern != to:
            self._try(pattern, final, to if found else None)

    def settle(self, resolve: Callable[[int], int]) -> None:
        """Let hypotheses about URL patterns that have become one become one too."""
        for pattern in [known for known in self._shapes if resolve(known) != known]:
            moved = self._shapes.pop(pattern)
            kept = self._shapes.setdefault(resolve(pattern), CopiedShape())
            kept.evidence.absorb(moved.evidence)
            kept.originals.update(moved.originals)
        for shape in self._shapes.values():
            if any(resolve(other) != other for other in shape.originals):
                moved_to: Counter[int] = Counter()
                for other, n in shape.originals.items():
                    moved_to[resolve(other)] += n
                shape.originals = moved_to

    def fetched(self, link: int) -> None:
        """Take note that a link was fetched."""
        for shape in self._shapes.values():
            shape.evidence.fetched(link)

    def _try(self, pattern: int, content: int, original: int | None) -> None:
        """Count a try: the pattern of the original, None if the page is no copy."""
        if pattern not in self._shapes and len(self._shapes) >= _MAX_SHAPES:
            return
        shape = self._shapes.setdefault(pattern, CopiedShape())
        agrees = original is not None
        if shape.evidence.speak(content if agrees else -content, agrees=agrees) and original is not None:
            shape.originals[original] += 1
