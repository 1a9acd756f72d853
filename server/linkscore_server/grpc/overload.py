"""The refusal of a call for which there is no room or time; needs nothing else of the server."""

from __future__ import annotations

from linkscore_scoring.errors import LinkscoreError

LONGEST_RETRY_S = 10.0
"""Longest pause that a refused caller is asked to make. Chosen, not measured."""


class Overloaded(LinkscoreError):
    """A call would wait too long for its turn or for memory; nothing of it was applied."""

    def __init__(self, message: str, *, retry_s: float = 1.0) -> None:
        super().__init__(message)
        self.retry_s = retry_s


class QuotaExceeded(Overloaded):
    """The token of the call brings more than its line of the token file allows; nothing of it was applied."""


def overloaded(rule: str, retry_s: float) -> Overloaded:
    """Return the refusal of a call that may come again after some seconds, within bounds."""
    return Overloaded(f"overloaded: {rule}", retry_s=min(max(retry_s, 0.1), LONGEST_RETRY_S))
