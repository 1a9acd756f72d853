"""When a site is learned: at doubling sample sizes, then when many pages fit no template any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_DOUBLINGS = 3
_DRIFT_WINDOW = 200
_DRIFT_SHARE = 0.3


@dataclass(slots=True)
class LearningSchedule:
    """Decides when a learning is due.

    Attributes
    ----------
    next_at
        Sample size of the next scheduled learning, 0 when the schedule is through.
    last_at
        Sample size of the last scheduled one.
    outliers, classified
        Decayed counts (window 200 pages) of pages that fitted no template, and of all classified pages.
    """

    next_at: int
    last_at: int
    outliers: float = 0.0
    classified: float = 0.0

    @classmethod
    def starting_at(cls, sample_pages: int, max_sample_pages: int) -> LearningSchedule:
        """Return the schedule n, 2n, 4n, 8n pages, as far as the sample may grow."""
        return cls(sample_pages, min(sample_pages << _DOUBLINGS, max_sample_pages))

    def started(self) -> None:
        """Note that a learning was started."""
        self.next_at = self.next_at * 2 if 0 < self.next_at * 2 <= self.last_at else 0
        self.outliers = self.classified = 0.0

    def classify(self, *, outlier: bool) -> None:
        """Note a classified page."""
        keep = 1.0 - 1.0 / _DRIFT_WINDOW
        self.outliers = self.outliers * keep + outlier
        self.classified = self.classified * keep + 1.0

    def is_due(self, sample_size: int) -> bool:
        """Say whether the sample is large enough, or more than 30 % of about 200 pages were outliers."""
        if self.next_at:
            return sample_size >= self.next_at
        return self.classified > _DRIFT_WINDOW / 2 and self.outliers > _DRIFT_SHARE * self.classified

    def to_state(self) -> list[Any]:
        """Return the schedule as plain values."""
        return [self.next_at, self.last_at, self.outliers, self.classified]

    @classmethod
    def from_state(cls, state: list[Any]) -> LearningSchedule:
        """Rebuild a schedule."""
        return cls(*state)
