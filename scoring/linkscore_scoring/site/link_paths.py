"""The link paths of a site by 64-bit id. Bounded; an id that was forgotten still works, without a name.

A link path is the way from the root of a page to an anchor: elements, and the class of the anchor. Files,
settings and messages call it link path or tag path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from linkscore_scoring.features.bags import link_path_id, link_path_without_class, normalise_link_path
from linkscore_scoring.types import UNKNOWN_LINK_PATH


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

    Parameters
    ----------
    max_link_paths
        link paths kept; further ones are answered but not remembered.
    """

    def __init__(self, *, max_link_paths: int = 20_000) -> None:
        self.max_link_paths = max_link_paths
        self._by_raw: dict[str, LinkPath] = {}
        self._by_id: dict[int, LinkPath] = {UNKNOWN_LINK_PATH: _UNKNOWN}

    def __len__(self) -> int:
        return len(self._by_raw)

    def intern(self, raw: str) -> LinkPath:
        """Return the link path of a text, remembering it while there is room; empty is the unknown one."""
        found = self._by_raw.get(raw)
        if found is None:
            found = self.find(raw)
            if raw and len(self._by_raw) < self.max_link_paths:
                self._by_raw[raw] = self._by_id[found.id] = found
        return found

    def find(self, raw: str) -> LinkPath:
        """Return the link path of a text without remembering it."""
        found = self._by_raw.get(raw)
        if found is None and raw:
            found = LinkPath(
                raw,
                link_path_id(raw),
                link_path_id(normalise_link_path(raw)),
                link_path_id(link_path_without_class(raw)),
            )
        return found or _UNKNOWN

    def get(self, id_: int) -> LinkPath:
        """Return the link path of an id; one that is not remembered has empty text and unknown details."""
        return self._by_id.get(id_) or LinkPath("", id_, id_, UNKNOWN_LINK_PATH)

    def classless(self, ids: Sequence[int]) -> list[int]:
        """Return the id without class of each id."""
        known = self._by_id
        found = {id_: known[id_].classless if id_ in known else UNKNOWN_LINK_PATH for id_ in set(ids)}
        return list(map(found.__getitem__, ids))

    def folded(self, ids: Sequence[int]) -> list[int]:
        """Return the id with class digits as ``#`` of each id."""
        known = self._by_id
        found = {id_: known[id_].folded if id_ in known else id_ for id_ in set(ids)}
        return list(map(found.__getitem__, ids))

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
