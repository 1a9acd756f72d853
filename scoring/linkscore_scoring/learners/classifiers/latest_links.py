"""One link to speak for each group of links."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.types import UNKNOWN_CLUSTER, LinkBatch

_NOBODY = (0, "", 0, "")  # the link of a pattern that is not known
_MAX_PATTERNS = 20_000  # patterns; a bound, a site's own replaces it
_ANCHOR_CHARS = 80  # of an anchor; a bound


class LatestLinks:
    """The latest link of each URL pattern: identity hash, URL, link path, anchor.

    Parameters
    ----------
    max_patterns
        Patterns kept; beyond it those seen first are dropped.

    Examples
    --------
    >>> urls, patterns = ["http://a.org/p/1", "http://a.org/p/2", "http://a.org/about"], [7, 7, 3]
    >>> latest = LatestLinks()
    >>> latest.note(LinkBatch(urls, [1, 2, 3], [0] * 3, [0] * 3, [1] * 3, patterns, ["one", "two", "us"]))
    >>> latest.batch([7, 99]).urls
    ['http://a.org/p/2', '']
    >>> latest.newest(1)
    [3]
    """

    def __init__(self, *, max_patterns: int = _MAX_PATTERNS) -> None:
        self.max_patterns = max_patterns
        self._examples: dict[int, tuple[int, str, int, str]] = {}

    def __contains__(self, pattern: int) -> bool:
        return pattern in self._examples

    def note(self, links: LinkBatch) -> None:
        """Take in the links of a page."""
        columns = zip(links.patterns, links.keys, links.urls, links.link_paths, links.anchors, strict=True)
        for pattern, key, url, link_path, anchor in columns:
            self._examples[pattern] = (key, url, link_path, anchor[:_ANCHOR_CHARS])
        for pattern in list(islice(self._examples, max(0, len(self._examples) - self.max_patterns))):
            del self._examples[pattern]

    def batch(self, patterns: Sequence[int]) -> LinkBatch:
        """Return one link for each pattern; an empty one for a pattern that is not known."""
        found = [self._examples.get(pattern, _NOBODY) for pattern in patterns]
        n = len(found)
        return LinkBatch(
            [url for _, url, _, _ in found],
            [key for key, _, _, _ in found],
            [link_path for _, _, link_path, _ in found],
            [UNKNOWN_CLUSTER] * n,
            [0] * n,
            list(patterns),
            [anchor for _, _, _, anchor in found],
        )

    def newest(self, n: int) -> list[int]:
        """Return up to n patterns, those first seen last."""
        return list(islice(reversed(self._examples), n))

    def to_state(self) -> list[Any]:
        """Return the examples as plain values."""
        return [[pattern, *example] for pattern, example in self._examples.items()]

    def load_state(self, state: list[Any]) -> None:
        """Take over the examples of `to_state`.

        Raises
        ------
        CorruptState
            If an entry is malformed.
        """
        try:
            self._examples = {
                int(pattern): (int(key), str(url), int(link_path), str(anchor))
                for pattern, key, url, link_path, anchor in state
            }
        except (TypeError, ValueError) as exc:
            raise CorruptState(f"link examples: malformed entry {exc}") from exc
