"""Which shapes of URLs were fetched in vain, over all hosts, while no relevant page is known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np

from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.anthelion.hashed_random import Floats
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.urls.pattern_tree import url_tokens


class VainShapes(Stateful):
    """Counts labelled pages by the shape of their URL after the host, digit runs as ``#``.

    URL patterns belong to one site. Without this a contact page is new on each host, and the search for a
    first relevant page spends its budget on such pages.

    Examples
    --------
    >>> vain = VainShapes()
    >>> for url in ("http://a.org/contact", "http://b.org/contact", "http://b.org/item/7"):
    ...     vain.note(url, most=100)
    >>> vain.counts(["http://c.org/contact", "http://c.org/item/12", "http://c.org/"]).tolist()
    [2.0, 1.0, 0.0]
    """

    counted: Stored[dict[int, int]]

    def __init__(self) -> None:
        self.counted = {}

    def note(self, url: str, most: int) -> None:
        """Count a page that was not relevant; beyond `most` shapes those met first are forgotten."""
        shape = _shape(url)
        self.counted[shape] = self.counted.get(shape, 0) + 1
        for first in list(islice(self.counted, max(0, len(self.counted) - most))):
            del self.counted[first]

    def counts(self, urls: Sequence[str]) -> Floats:
        """Return how many pages of the shape of each URL were counted, (n,) float64."""
        return np.array([self.counted.get(_shape(url), 0) for url in urls], dtype=np.float64)


def _shape(url: str) -> int:
    return hash64("".join(url_tokens(url)[1:]))
