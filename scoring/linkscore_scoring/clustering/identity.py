"""Cluster ids that survive relearning: tickets, arms and tables of a crawl name clusters by them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linkscore_scoring.clustering.base import OUTLIER


@dataclass(slots=True)
class ClusterIdentities:
    """Carries persistent ids over from one clustering to the next by the pages both know.

    A new cluster inherits the id of the old cluster it overlaps most (Jaccard over pages known to both, at
    least `min_overlap`), one to one; greedy from the largest number of shared pages, ties to the smaller old
    id, then the smaller new label. When a cluster splits, the larger part keeps the id; when clusters merge,
    the id of the larger is kept. All others get new ids. An id that was given out is never given out again;
    outliers are always -1.

    `min_overlap`: smallest Jaccard overlap, in [0, 1], that counts as the same cluster. `next_id`: first id
    that was never used.

    Cost O(pages + pairs log pairs). Not in Xu 2018, which learns once.

    Examples
    --------
    >>> identities = ClusterIdentities()
    >>> identities.carry_over({}, ["/a", "/b", "/c"], [0, 0, 1])
    {0: 0, 1: 1}
    >>> identities.carry_over({"/a": 0, "/b": 0, "/c": 1}, ["/a", "/b", "/c", "/d"], [1, 1, 0, 2])
    {1: 0, 0: 1, 2: 2}
    """

    min_overlap: float = 0.25
    next_id: int = 0

    def carry_over(
        self, old: Mapping[str, int], pages: Sequence[str], labels: Sequence[int]
    ) -> dict[int, int]:
        """Return the persistent id of every new label (without -1) and advance `next_id`.

        `old`: page key -> persistent id before; empty at the first learning. `pages`, `labels`: keys of the
        newly clustered pages and their labels, same length.
        """
        ids = self._matched(old, pages, labels)
        for label in sorted(set(labels) - {OUTLIER} - set(ids)):
            ids[label] = self.next_id
            self.next_id += 1
        return ids

    def _matched(self, old: Mapping[str, int], pages: Sequence[str], labels: Sequence[int]) -> dict[int, int]:
        known = [(old[page], label) for page, label in zip(pages, labels, strict=True) if page in old]
        shared = Counter(pair for pair in known if OUTLIER not in pair)
        before, after = Counter(a for a, _ in known), Counter(b for _, b in known)
        ids: dict[int, int] = {}
        used: set[int] = set()
        for (was, now), both in sorted(shared.items(), key=lambda item: (-item[1], item[0])):
            overlap = both / (before[was] + after[now] - both)
            if was not in used and now not in ids and overlap >= self.min_overlap:
                ids[now] = was
                used.add(was)
        return ids
