"""Is there a way from an entry over indexes to threads, beyond doubt? One sentence, with numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linkscore_scoring.learners.eit.model import EitModel

_THREADS, _INDEXES = 3, 2
_SURE, _STILL_SURE = 0.65, 0.6


@dataclass(frozen=True, slots=True)
class Certainty:
    """Whether the way is certain, and why or why not in words."""

    ready: bool
    text: str


UNCERTAIN = Certainty(False, "no page was seen yet")


def certainty(model: EitModel) -> Certainty:
    """Return how certain the way is; cost O(patterns on the way)."""
    threads, index = model.paths.thread, model.paths.index
    n_threads, n_index = sum(threads.values()), sum(index.values())
    flips = sum(model.votes.is_flip(p) for p in [*threads, *index])
    found = (
        f"{n_index:.0f} index and {n_threads:.0f} thread pages of {model.typed} typed, in "
        f"{len(index)} and {len(threads)} URL patterns, {flips} of them page flips"
    )
    ready = n_threads >= _THREADS and n_index >= _INDEXES
    return Certainty(ready, found)
