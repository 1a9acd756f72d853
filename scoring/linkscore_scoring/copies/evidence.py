"""What speaks for and against a hypothesis that some links lead to copies, and when it is tried again."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

_Z = 1.2816
"""Standard deviations of the bound: it is passed wrongly in one case of ten. Chosen."""
_SPOKEN = 64
"""Contents remembered that have spoken, a bound. Beyond it an old one may speak once more."""
_FIRST_CHECK, _CHECK_GROWTH = 1.0, 1.5
"""Links withheld until one is let through to look again, and by how much more after each. Chosen: of 2,000
links the first is, and 1 % of all."""


def lower_bound(tries: float, agreed: float) -> float:
    """Return the lower end of Wilson's interval for a share (1927), of one side and 90 %; 0 if none agreed.

    Examples
    --------
    >>> [round(lower_bound(n, n), 2) for n in (0, 3, 7, 15, 150)]
    [0.0, 0.65, 0.81, 0.9, 0.99]
    >>> round(lower_bound(16, 15), 2)
    0.81
    """
    if not agreed:  # exactly: what rounding leaves of the formula is above 0
        return 0.0
    share, square = agreed / tries, _Z * _Z
    spread = _Z * math.sqrt(share * (1.0 - share) / tries + square / (4.0 * tries * tries))
    return max(0.0, (share + square / (2.0 * tries) - spread) / (1.0 + square / tries))


@dataclass(slots=True)
class Evidence:
    """Tries of a hypothesis.

    A content speaks once: pages that all show the same (errors, log-in pages, shells of scripts) are one try.

    Attributes
    ----------
    tries, agreed
        Contents that could have refuted it, and those that did not.
    spoken
        The contents, latest last.
    withheld
        Links withheld by it.
    check_at
        How many of these before one is let through.
    let_through
        Identity hash of a link that is fetched to look again; 0 if none is to be.
    """

    tries: int = 0
    agreed: int = 0
    spoken: list[int] = field(default_factory=list)
    withheld: int = 0
    check_at: float = _FIRST_CHECK
    let_through: int = 0

    @property
    def probability(self) -> float:
        """The lower bound of the share of copies."""
        return lower_bound(self.tries, self.agreed)

    def speak(self, content: int, *, agrees: bool) -> bool:
        """Count a content if it has not spoken yet; say whether it was counted."""
        if content in self.spoken:
            return False
        self.spoken.append(content)
        del self.spoken[:-_SPOKEN]
        self.tries += 1
        self.agreed += agrees
        return True

    def withhold(self, link: int) -> None:
        """Count a link that is withheld; now and then it is let through instead."""
        self.withheld += 1
        if self.withheld >= self.check_at:
            self.check_at *= _CHECK_GROWTH
            self.let_through = link

    def fetched(self, link: int) -> None:
        """Take note that a link was fetched."""
        if self.let_through == link:
            self.let_through = 0

    def absorb(self, other: Evidence) -> None:
        """Take over what speaks for and against a hypothesis that has become one with this."""
        self.tries += other.tries
        self.agreed += other.agreed
        self.spoken = [*other.spoken, *self.spoken][-_SPOKEN:]
        self.withheld += other.withheld
        self.check_at = max(self.check_at, other.check_at)
        self.let_through = self.let_through or other.let_through
