"""What keeps a server that is away from costing a deadline for every page."""

from __future__ import annotations

from collections.abc import Callable

import grpc

from linkscore.errors import LinkscoreError

OUTAGES = frozenset(
    {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED}
)
"""Codes after which the next call would fail too."""

QUOTA_EXCEEDED = "QUOTA_EXCEEDED"
"""Reason of a call that the quota of its token allows later."""

_OF_THE_CALL = frozenset({"LIMIT_EXCEEDED", QUOTA_EXCEEDED})
"""Reasons that say nothing of the next call."""


PROBE_FIRST_S = 1.0
"""Pause between an outage and the first probe; it doubles. Chosen: a probe costs the server nothing."""

PROBE_LONGEST_S = 5.0
"""Longest pause between two probes; chosen: a crawl waits no longer for a server that is back."""


def is_outage(error: LinkscoreError) -> bool:
    """Say whether the next call would fail too."""
    return error.code in OUTAGES and error.reason not in _OF_THE_CALL


class CircuitBreaker:
    """Lets no call through for a while after an outage, then one, and all again once that one is answered.

    Parameters
    ----------
    clock
        Monotonic time in seconds.
    first_s, longest_s
        Wait after the first failure, and its bound, both chosen; it doubles with every failure in a row.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        first_s: float = PROBE_FIRST_S,
        longest_s: float = PROBE_LONGEST_S,
    ) -> None:
        self._clock = clock
        self._first_s = first_s
        self._longest_s = longest_s
        self._wait_s = 0.0
        self._open_until = 0.0
        self._probing = False

    @property
    def broken(self) -> bool:
        """Whether the last answer was an outage."""
        return self._wait_s > 0

    @property
    def wait_s(self) -> float:
        """Seconds between the last failure and the next call let through."""
        return self._wait_s

    @property
    def ready(self) -> bool:
        """Whether a call would be let through now."""
        return not self.broken or (not self._probing and self._clock() >= self._open_until)

    def allows(self) -> bool:
        """Say whether a call may be made now; if the server was out, only one at a time may."""
        if not self.ready:
            return False
        self._probing = self.broken
        return True

    def succeeded(self) -> None:
        """Note an answer."""
        self._wait_s = 0.0
        self._probing = False

    def failed(self, retry_after_s: float | None = None) -> None:
        """Note an outage; the server may say itself when to come back."""
        if self._probing or not self.broken:
            doubled = min(self._longest_s, max(self._first_s, 2 * self._wait_s))
            self._wait_s = max(doubled, retry_after_s or 0.0)
            self._open_until = self._clock() + self._wait_s
        self._probing = False

    def gave_up(self) -> None:
        """Note a call that ended without saying anything about the server."""
        self._probing = False
