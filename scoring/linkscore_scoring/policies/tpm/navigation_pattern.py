"""The way from the entry of a site to its target pages: one URL shape for every click (Vidal 2006)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from linkscore_scoring.errors import reading_state
from linkscore_scoring.policies.tpm.url_shapes import UrlShape

OFF = 0
"""Step of a link that leads off the way."""


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
        """Return the last step whose shape a URL has, `OFF` if it has none.

        Parameters
        ----------
        after
            Steps of the pages that link to it: only the next steps count; None lets every step count.
        """
        for step in range(len(self.shapes), 0, -1):
            if (after is None or step - 1 in after) and self.shapes[step - 1].matches(url):
                return step
        return OFF

    def to_state(self) -> dict[str, Any]:
        """Return the pattern as plain values."""
        return {"shapes": [shape.to_state() for shape in self.shapes], "targets": self.targets}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> NavigationPattern:
        """Rebuild a pattern.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        with reading_state("navigation pattern"):
            return cls([UrlShape.from_state(shape) for shape in state["shapes"]], int(state["targets"]))
