"""What examples say of links nobody followed: a URL of the shape of an example's may be of a page like it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.policies.harvest.arms import ANY, Counts, Node
from linkscore_scoring.policies.harvest.tunables import DEFAULTS, StartTunables
from linkscore_scoring.urls.pattern_tree import UrlPatterns
from linkscore_scoring.urls.tokens import is_fixed, url_tokens, wildcard_of


class ExampleUrls:
    """Pulls that URL patterns start with because an example has their shape.

    Where a pattern has the shape of an example, its links are taken to have brought a page like it once,
    before any was fetched; what they bring outvotes that soon. Shapes are alike if they have the same slots,
    where the pattern may have a wildcard. If there is no query, the last name of the path may differ too:
    there pages of one kind have their names, and `/user/ann` is all the tree knows before it meets more.

    Nothing of it is state: it follows from the examples and the tree.

    Parameters
    ----------
    keys
        Identities of the examples, empty for one without URL.
    patterns
        URL patterns of the site.
    tunables
        How many pulls examples count as.

    Notes
    -----
    Not from a paper. Cost: O(slots) a question, O(examples x slots) for a pattern not asked about before.

    Examples
    --------
    >>> patterns = UrlPatterns()
    >>> user, tag = patterns.insert("http://h.example/user/ann"), patterns.insert("http://h.example/tag/qt")
    >>> named = ExampleUrls(["http://h.example/user/bob"], patterns)
    >>> named.counts((user, ANY)), named.counts((tag, ANY))
    ([1.0, 1.0, 0.0], None)
    """

    def __init__(
        self, keys: Iterable[str], patterns: UrlPatterns, tunables: StartTunables = DEFAULTS.starts
    ) -> None:
        self._patterns = patterns
        self._t = tunables
        self._shapes = dict.fromkeys(tuple(url_tokens(key)) for key in keys if key)
        self._known: dict[tuple[str, ...], bool] = {}

    def __bool__(self) -> bool:
        return bool(self._shapes)

    def counts(self, node: Node) -> Counts | None:
        """Return pulls, rewards and hub yields that a node starts with, None if no example says anything."""
        pattern, apath = node
        if apath != ANY or pattern <= 0 or not self._is_named(pattern):
            return None
        return [self._t.example_pulls, self._t.example_pulls, 0.0]

    def _is_named(self, pattern: int) -> bool:
        tokens = tuple(self._patterns.tokens(pattern))
        if tokens not in self._known:
            drop_oldest(self._known, self._t.max_shapes - 1)
            self._known[tokens] = any(_has_shape(tokens, shape) for shape in self._shapes)
        return self._known[tokens]


def _has_shape(pattern: Sequence[str], shape: Sequence[str]) -> bool:
    """Say whether a pattern has the slots of a URL, but for the last name."""
    if len(pattern) != len(shape):
        return False
    free = _last_name(shape)
    return all(
        a == b or a == wildcard_of(b) or (place == free and _may_be_names(a, b))
        for place, (a, b) in enumerate(zip(pattern, shape, strict=True))
    )


def _may_be_names(a: str, b: str) -> bool:
    return wildcard_of(a) == wildcard_of(b) and not (is_fixed(a) or is_fixed(b))


def _last_name(shape: Sequence[str]) -> int:
    """Return the place of the last name of a path, -1 without one or before a query: that names a script."""
    names = [place for place, slot in enumerate(shape) if slot[:1] in {"/", ":"} and slot != "/"]
    has_query = any(slot.startswith("?") for slot in shape)
    return names[-1] if names and not has_query else -1
