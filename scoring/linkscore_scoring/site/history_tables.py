"""Tables of histories by group: found or made, folded as URL patterns fold, bounded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

from linkscore_scoring.site.histories import History, merged

_K = TypeVar("_K", bound=Hashable)


def history_of(histories: dict[_K, History], key: _K) -> History:
    """Return the history of a group, made if there is none."""
    history = histories.get(key)
    if history is None:
        history = histories[key] = History()
    return history


def folded(histories: Mapping[_K, History], now: Callable[[_K], _K]) -> dict[_K, History]:
    """Return the histories by what each group is `now`; those of groups that became one are joined."""
    parts: defaultdict[_K, list[History]] = defaultdict(list)
    for key, history in histories.items():
        parts[now(key)].append(history)
    return {key: some[0] if len(some) == 1 else merged(some) for key, some in parts.items()}


def largest(histories: Mapping[_K, History], most: int) -> dict[_K, History]:
    """Return the histories with the most fetches, three quarters of the bound, in their order."""
    kept = sorted(histories, key=lambda key: -histories[key].fetched)[: 3 * most // 4]
    wanted = set(kept)
    return {key: history for key, history in histories.items() if key in wanted}
