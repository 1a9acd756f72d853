"""Every bandit, and every host value function that looks at rewards, passes the suite of the library."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from linkscore_scoring.learners.bandits import BANDITS
from linkscore_scoring.learners.bandits.host_bandit import HostBandit
from linkscore_scoring.learners.bandits.host_values import HOST_VALUES
from linkscore_scoring.testing.bandits import BANDIT_CHECKS, Maker, check_it_earns_more_than_chance


def host_bandit(function: str, seed: int) -> HostBandit:
    return HostBandit(function=function, explore_prob=0.1, seed=seed)


MAKERS: dict[str, Maker] = {
    "ucb": lambda seed: BANDITS["ucb"](seed=seed),
    "discounted_thompson": lambda seed: BANDITS["discounted_thompson"](seed=seed),
    "softmax": lambda seed: BANDITS["softmax"](seed=seed),
    **{name: partial(host_bandit, name) for name in HOST_VALUES},
}
# Without exploration enough to look for it, or without a look at rewards, the best arm is not found.
BLIND = {"best_score", "absolute_good", "absolute_good_best_score"}


@pytest.mark.parametrize("check", BANDIT_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", MAKERS)
def test_every_bandit_passes(name: str, check: Any) -> None:
    if name in BLIND and check is check_it_earns_more_than_chance:
        with pytest.raises(AssertionError, match="earned"):
            check(MAKERS[name])
        return
    assert check(MAKERS[name]) is None
