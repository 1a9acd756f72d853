"""Pages that a model would like to see fetched. The service never fetches: the crawler does, or does not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Suggestion:
    """A page the model would like fetched: URL, why in words, and how urgent in [0, 1]."""

    url: str
    reason: str
    urgency: float
