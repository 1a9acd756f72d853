"""Bandits, found by name."""

from __future__ import annotations

from linkscore_scoring.errors import InvalidParams
from linkscore_scoring.learners.bandits.base import Arm, Bandit
from linkscore_scoring.learners.bandits.discounted_thompson import DiscountedThompson
from linkscore_scoring.learners.bandits.host_bandit import HostBandit
from linkscore_scoring.learners.bandits.softmax import Softmax
from linkscore_scoring.learners.bandits.ucb import Ucb

BANDITS: dict[str, type[Bandit]] = {
    kind.name: kind for kind in (HostBandit, Ucb, DiscountedThompson, Softmax)
}


def bandit_named(name: str) -> type[Bandit]:
    """Return the bandit class of this name.

    Raises
    ------
    InvalidParams
        If no bandit has the name.
    """
    if name not in BANDITS:
        raise InvalidParams(f"must be one of {', '.join(sorted(BANDITS))}, got {name!r}", field="bandit")
    return BANDITS[name]


__all__ = ["BANDITS", "Arm", "Bandit", "bandit_named"]
