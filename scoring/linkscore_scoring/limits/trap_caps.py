"""Which links of a site are to skip as their part of the site brings little and has taken its share."""

from __future__ import annotations

from collections import Counter

from linkscore_scoring.engine.reports.traps import GROWTH, LOW_SHARE, LOW_USE
from linkscore_scoring.site.crawl_history import History
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import LinkBatch

_LEAST_FETCHES = 12
"""Fetches that every part of a site may have: 5 % of 240. Chosen, not measured."""
_MIN_GOOD = 3
"""Fetches of a last half before it is good or not; fewer say nothing. Chosen."""
_LOW_USE, _LOW_SHARE = 0.05, 0.25
"""A last half that brings less than this a fetch, and less than this share of the mean of the site, is low:
some 20 new characters. A third of what makes a suspicion, for a cap cannot be wrong: pages of a shop without
labels, of little text, bring .14. Chosen on that shop."""
_LONG = 40
"""Fetches from which a part that brings next to nothing need not grow to be left: lists of a shop brought
nothing for a dozen pages, and goods after that. Chosen on that shop."""
_GOOD_SHARE = 0.25
"""Share of the fetches of a part in good parts below it from which it is none, as for suspicions."""
_HOST_AND_ROOT = 2
"""Nodes above the first shape below the host."""
_TRAP = 3  # of the wire contract: SKIP_REASON_TRAP


class TrapCaps(Stateful):
    """Parts of a site, URL shapes and tag paths, whose last half brought little, with their fetches.

    With feedback, the last half was low as of a suspicion. Without, it brought next to nothing, and about as
    many new links of the same kind as it used up, or the part has many fetches. A part a quarter of which is
    good is none: a shape by its shapes, a tag path by any shape that it leads to. Links of what is good are
    never to skip.

    Attributes
    ----------
    shapes, link_paths
        Fetches of each, by URL pattern and by folded link path.
    good
        URL patterns whose last half brought something, in order.
    """

    shapes: Stored[dict[int, int]]
    link_paths: Stored[dict[int, int]]
    good: Stored[list[int]]

    def __init__(self) -> None:
        self.shapes, self.link_paths, self.good = {}, {}, []

    def look(self, site: SiteModel) -> None:
        """Look at what every part brought; cost O(histories)."""
        history, patterns = site.history, site.patterns
        by_reward = history.by_reward
        mean = history.site().total().worth(by_reward=by_reward)
        low = min(LOW_USE, LOW_SHARE * mean) if by_reward else min(_LOW_USE, _LOW_SHARE * mean)

        def is_good(part: History) -> bool | None:
            """Say whether the last half brought enough; None of too few fetches."""
            late = part.latest(0.5)
            if late.fetched < _MIN_GOOD:
                return None
            return late.use(by_reward=by_reward and late.reported > 0) > low

        shapes = history.shapes_now(patterns)
        found = {node: is_good(part) for node, part in shapes.items()}
        self.good = sorted(node for node, good in found.items() if good)
        good_below: Counter[int] = Counter()
        for node in self.good:
            good_below.update(dict.fromkeys(patterns.lineage(node), round(shapes[node].fetched)))
        self.shapes = {
            node: round(shapes[node].fetched)
            for node, good in found.items()
            if good is False
            and (by_reward or _is_endless(shapes[node]))
            and good_below[node] < _GOOD_SHARE * shapes[node].fetched
            and len(patterns.lineage(node)) > _HOST_AND_ROOT
        }
        fine = {path for (_, path), part in history.groups_now(patterns).items() if is_good(part)}
        self.link_paths = {
            path: round(part.fetched)
            for path, part in history.tag_paths.items()
            if path and path not in fine and is_good(part) is False and (by_reward or _is_endless(part))
        }

    def judge(self, links: LinkBatch, site: SiteModel, share: float, reasons: list[int]) -> None:
        """Write `_TRAP` as reason of the links whose part has taken `share` of the fetches of the site."""
        if not (self.shapes or self.link_paths):
            return
        most = max(_LEAST_FETCHES, share * site.history.fetches)
        shapes = {node for node, fetched in self.shapes.items() if fetched >= most}
        paths = {path for path, fetched in self.link_paths.items() if fetched >= most}
        if not (shapes or paths):
            return
        groups, good = links.grouped(), set(self.good)

        def is_capped(pattern: int, link_path: int) -> bool:
            for node in site.patterns.lineage(pattern):  # from fine to coarse
                if node in good:
                    return False
                if node in shapes:
                    return True
            return site.link_paths.get(link_path).folded in paths

        capped = [is_capped(*group) for group in groups.distinct]
        for row, place in enumerate(groups.places.tolist()):
            if capped[place] and not reasons[row]:
                reasons[row] = _TRAP


def _is_endless(part: History) -> bool:
    """Say whether the last half found about as many new links of the same kind as it used up, or is long."""
    late = part.latest(0.5)
    return late.grown >= GROWTH * late.fetched or part.fetched >= _LONG
