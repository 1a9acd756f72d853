"""Has the world changed? ADWIN over the errors of a classifier."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linkscore_scoring.errors import reading_state


class DriftDetector:
    """Says when the mean of a stream in [0, 1] has changed, and only when it rose: errors may fall freely.

    The detector is river's; it is rebuilt from the values since the last change, of which at most
    `max_values` are kept (then the older half goes).

    Parameters
    ----------
    delta
        Probability of a false alarm at each test, (0, 1).

    Notes
    -----
    Source: Bifet and Gavalda, Learning from time-changing data with adaptive windowing, SDM 2007. Cost: about
    2 us a value; river is imported at the first one.
    """

    def __init__(self, *, delta: float = 0.002, max_values: int = 500) -> None:
        self.delta, self.max_values = delta, max_values
        self.changes = 0
        self._values: list[float] = []
        self._adwin: Any = None

    def add(self, value: float) -> bool:
        """Take in a value; say whether the mean has just risen."""
        if len(self._values) >= self.max_values:
            self._rebuild(self._values[-self.max_values // 2 :])
        adwin = self._ready()
        before = adwin.estimation
        self._values.append(value)
        adwin.update(value)
        if not adwin.drift_detected:
            return False
        risen = bool(adwin.estimation > before)
        self.changes += risen
        self._rebuild(())
        return risen

    def _ready(self) -> Any:
        if self._adwin is None:
            from river.drift import ADWIN

            self._adwin = ADWIN(delta=self.delta)
        return self._adwin

    def _rebuild(self, values: Iterable[float]) -> None:
        self._adwin, self._values = None, list(values)
        for value in self._values:
            self._ready().update(value)

    def to_state(self) -> dict[str, Any]:
        """Return the values since the last change."""
        return {"changes": self.changes, "values": self._values}

    def load_state(self, state: dict[str, Any]) -> None:
        """Replay the values.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        with reading_state("drift detector"):
            self.changes = int(state["changes"])
            values = list(map(float, state["values"]))
        self._rebuild(values)
