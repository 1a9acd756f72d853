"""What is remembered of a site's URLs (where seen, how deep, what they turned out to be) and its link paths.

A link path is the way from the root of a page to an anchor: elements, and the class of the anchor. Files,
settings and messages call it link path or tag path. An id that was forgotten still works, without a name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import compress, count, repeat
from operator import gt, is_, itemgetter
from typing import Any, cast

from linkscore_scoring.columns import drop_oldest
from linkscore_scoring.features.types import normalise_link_path
from linkscore_scoring.hashing import hash64
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import UNKNOWN_LINK_PATH

NOT_FETCHED = -3
"""Cluster of a URL that was seen in links and not fetched."""

_DEPTH, _CLUSTER, _PATTERN, _CONTEXTS = 0, 1, 2, 3
"""Cells of the record of a URL; from the last on there are pairs of source page and link path."""

_UNSEEN = (0, NOT_FETCHED, 0)


class LinkMemory(Stateful):
    """URLs of one site by identity hash, each with its in-links: source page and link path, the latest.

    A URL is a flat list [depth, cluster, pattern, source, link path, source, ...] of some 250 bytes.

    `max_links`: URLs remembered; beyond it the ones seen first are forgotten, which costs a context, never a
    link. `max_contexts`: in-links kept per URL; the latest stay.
    """

    evicted: Stored[int]
    _links: Stored[dict[int, list[int]]]

    def __init__(self, *, max_links: int = 200_000, max_contexts: int = 6) -> None:
        self._max_links, self._max_contexts = max_links, max_contexts

    def __len__(self) -> int:
        return len(self._links)

    def see(
        self,
        source: int,
        depth: int,
        keys: Sequence[int],
        link_paths: Sequence[int],
        names: Sequence[str],
        patterns_of: Callable[[Collection[str]], list[int]],
    ) -> tuple[list[int], list[bool], list[bool], list[tuple[int, int]]]:
        """Take in the links of a page; cost O(n_links).

        `source`, `depth`: the page's identity hash, and the depth of its links. `keys`, `link_paths`:
        targets and link path ids, same length. `names`: identities of the targets. `patterns_of`: gives the
        URL patterns of those that were never seen.

        Returns for each row the URL pattern that the target had when it was first seen, and `fresh` and
        `first_here`; then `displaced`: see `PageObservation`.
        """
        known = list(map(self._links.get, keys))
        fresh, displaced = list(map(is_, known, repeat(None))), list[tuple[int, int]]()
        new = dict(compress(zip(keys, names, strict=True), fresh))
        patterns = dict(zip(new, patterns_of(new.values()), strict=True))
        for row in compress(range(len(known)), fresh):
            record = known[row] = self._links.get(keys[row])  # the page may link to it twice
            if record is None:
                record = [depth, NOT_FETCHED, patterns[keys[row]], source, link_paths[row]]
                self._links[keys[row]] = known[row] = record
            else:
                fresh[row] = False
        records = cast("list[list[int]]", known)
        first_here = list(map(NOT_FETCHED.__eq__, map(itemgetter(_CLUSTER), records)))
        for row in compress(count(), map(gt, first_here, fresh)):
            first_here[row] = self._renew(records[row], source, link_paths[row], displaced)
        self.evicted += len(drop_oldest(self._links, self._max_links))
        return list(map(itemgetter(_PATTERN), records)), fresh, first_here, displaced

    def _renew(self, known: list[int], source: int, link_path: int, displaced: list[tuple[int, int]]) -> bool:
        """Make (source, link path) the latest in-link of a URL; say whether its source is a new one."""
        try:
            old = known.index(link_path, _CONTEXTS) - 1
        except ValueError:
            old = _CONTEXTS if len(known) >= _CONTEXTS + 2 * self._max_contexts else 0
        if old:
            before = known[old]
            if before == source:
                return False
            if before not in known[_CONTEXTS:old:2]:
                displaced.append((before, known[old + 1]))
            del known[old : old + 2]
        is_new = source not in known[_CONTEXTS::2]
        known += (source, link_path)
        return is_new

    def fetched(self, key: int, *, depth: int, cluster: int, pattern: int) -> bool:
        """Note a fetch; return whether it is a repeated one. Depth and pattern count for unknown URLs."""
        known = self._links.get(key)
        if known is None:
            self._links[key] = [depth, cluster, pattern]
            self.evicted += len(drop_oldest(self._links, self._max_links))
            return False
        before = known[_CLUSTER] != NOT_FETCHED
        known[_CLUSTER] = cluster
        return before

    def relabel(self, clusters: Iterable[tuple[int, int]]) -> None:
        """Give fetched URLs the clusters of a new model: pairs (identity hash, cluster)."""
        for key, cluster in clusters:
            if key in self._links:
                self._links[key][_CLUSTER] = cluster

    def is_fetched(self, key: int) -> bool:
        """Say whether a URL was fetched, as far as remembered."""
        return self.cluster(key) != NOT_FETCHED

    def fetched_among(self, keys: Sequence[int]) -> set[int]:
        """Return the URLs among `keys` of which `is_fetched` says so."""
        records = zip(keys, map(self._links.get, keys), strict=True)
        return {key for key, known in records if known is not None and known[_CLUSTER] != NOT_FETCHED}

    def cluster(self, key: int) -> int:
        """Return the cluster of a fetched URL, `NOT_FETCHED` if it was not fetched or is forgotten."""
        return self._links.get(key, _UNSEEN)[_CLUSTER]

    def patterns(self, keys: Sequence[int]) -> list[int | None]:
        """Return the URL pattern each URL had when it was first seen, None of one that is not known."""
        records = map(self._links.get, keys)
        return [None if known is None else known[_PATTERN] for known in records]

    def depth(self, key: int) -> int | None:
        """Return the depth at which a URL was first seen, None if it is not known."""
        return self.known(key)[0]

    def known(self, key: int) -> tuple[int | None, int | None, list[tuple[int, int]]]:
        """Return depth, URL pattern and in-links of a URL, as `depth`, `patterns` and `contexts` do."""
        known = self._links.get(key)
        if known is None:
            return None, None, []
        pairs = zip(known[_CONTEXTS::2], known[_CONTEXTS + 1 :: 2], strict=True)
        return known[_DEPTH], known[_PATTERN], list(pairs)

    def contexts(self, key: int) -> list[tuple[int, int]]:
        """Return the in-links of a URL, [(source page, link path id)]; empty if it is not known."""
        return self.known(key)[2]

    def waiting(self, told: Collection[int] = ()) -> Counter[tuple[int, int]]:
        """Count the URLs found and neither fetched nor `told` of by URL pattern and earliest link path kept;
        cost O(links).
        """
        return Counter(
            (known[_PATTERN], known[_CONTEXTS + 1])
            for key, known in self._links.items()
            if known[_CLUSTER] == NOT_FETCHED and key not in told
        )


@dataclass(frozen=True, slots=True)
class LinkPath:
    """One link path: raw text, its 64-bit `id`, and the ids it is looked up by when details are dropped.

    `folded` is the id with class digits as ``#``; `classless` the id of the element path alone.
    """

    raw: str
    id: int
    folded: int
    classless: int


_UNKNOWN = LinkPath("", UNKNOWN_LINK_PATH, UNKNOWN_LINK_PATH, UNKNOWN_LINK_PATH)


class LinkPathTable:
    """Link paths by id and by text.

    `max_link_paths`: link paths kept; further ones are answered but not remembered.
    """

    def __init__(self, *, max_link_paths: int = 20_000) -> None:
        self.max_link_paths = max_link_paths
        self._by_raw: dict[str, LinkPath] = {}
        self._by_id: dict[int, LinkPath] = {UNKNOWN_LINK_PATH: _UNKNOWN}
        self._classless, self._folded = dict[int, int](), dict[int, int]()

    def __len__(self) -> int:
        return len(self._by_raw)

    def intern(self, raw: str) -> LinkPath:
        """Return the link path of a text, remembering it while there is room; empty is the unknown one."""
        found = self._by_raw.get(raw)
        if found is None:
            found = self.find(raw)
            if raw and len(self._by_raw) < self.max_link_paths:
                self._by_raw[raw] = self._by_id[found.id] = found
                self._classless[found.id], self._folded[found.id] = found.classless, found.folded
        return found

    def find(self, raw: str) -> LinkPath:
        """Return the link path of a text without remembering it."""
        found = self._by_raw.get(raw)
        if found is None and raw:
            found = LinkPath(raw, *map(hash64, (raw, normalise_link_path(raw), raw.partition("[")[0])))
        return found or _UNKNOWN

    def get(self, id_: int) -> LinkPath:
        """Return the link path of an id; one that is not remembered has empty text and unknown details."""
        return self._by_id.get(id_) or LinkPath("", id_, id_, UNKNOWN_LINK_PATH)

    def classless_by_id(self) -> dict[int, int]:
        """Return the id without class of every id that is remembered."""
        return dict(self._classless)

    def classless(self, ids: Sequence[int]) -> list[int]:
        """Return the id without class of each id."""
        return list(map(self._classless.get, ids, repeat(UNKNOWN_LINK_PATH)))

    def folded(self, ids: Sequence[int]) -> list[int]:
        """Return the id with class digits as ``#`` of each id."""
        return list(map(self._folded.get, ids, ids))

    def folded_names(self) -> dict[int, str]:
        """Return the text with digits as ``#`` of every `LinkPath.folded` id that is remembered."""
        return {link_path.folded: normalise_link_path(raw) for raw, link_path in self._by_raw.items()}

    def to_state(self) -> list[str]:
        """Return the raw texts in order of arrival."""
        return list(self._by_raw)

    def load_state(self, state: Iterable[Any]) -> None:
        """Take over the texts of `to_state`."""
        for raw in state:
            self.intern(str(raw))
