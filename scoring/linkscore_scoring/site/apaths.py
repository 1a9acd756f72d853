"""The Apaths of a site by 64-bit id. Bounded; an id that was forgotten still works, it only has no name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from linkscore_scoring.features.bags import apath_id, apath_without_class, normalise_apath
from linkscore_scoring.types import UNKNOWN_APATH


@dataclass(frozen=True, slots=True)
class Apath:
    """One Apath: raw text, its 64-bit `id`, and the ids it is looked up by when details are dropped.

    `folded` is the id with class digits as ``#``; `classless` the id of the element path alone.
    """

    raw: str
    id: int
    folded: int
    classless: int


_UNKNOWN = Apath("", UNKNOWN_APATH, UNKNOWN_APATH, UNKNOWN_APATH)


class ApathTable:
    """Apaths by id and by text.

    Parameters
    ----------
    max_apaths
        Apaths kept; further ones are answered but not remembered.
    """

    def __init__(self, *, max_apaths: int = 20_000) -> None:
        self.max_apaths = max_apaths
        self._by_raw: dict[str, Apath] = {}
        self._by_id: dict[int, Apath] = {UNKNOWN_APATH: _UNKNOWN}

    def __len__(self) -> int:
        return len(self._by_raw)

    def intern(self, raw: str) -> Apath:
        """Return the Apath of a text, remembering it while there is room; empty text is the unknown Apath."""
        found = self._by_raw.get(raw)
        if found is None:
            found = self.find(raw)
            if raw and len(self._by_raw) < self.max_apaths:
                self._by_raw[raw] = self._by_id[found.id] = found
        return found

    def find(self, raw: str) -> Apath:
        """Return the Apath of a text without remembering it."""
        found = self._by_raw.get(raw)
        if found is None and raw:
            found = Apath(
                raw, apath_id(raw), apath_id(normalise_apath(raw)), apath_id(apath_without_class(raw))
            )
        return found or _UNKNOWN

    def get(self, id_: int) -> Apath:
        """Return the Apath of an id; one that is not remembered has empty text and unknown details."""
        return self._by_id.get(id_) or Apath("", id_, id_, UNKNOWN_APATH)

    def classless(self, ids: Sequence[int]) -> list[int]:
        """Return the id without class of each id."""
        known = self._by_id
        found = {id_: known[id_].classless if id_ in known else UNKNOWN_APATH for id_ in set(ids)}
        return list(map(found.__getitem__, ids))

    def folded(self, ids: Sequence[int]) -> list[int]:
        """Return the id with class digits as ``#`` of each id."""
        known = self._by_id
        found = {id_: known[id_].folded if id_ in known else id_ for id_ in set(ids)}
        return list(map(found.__getitem__, ids))

    def folded_names(self) -> dict[int, str]:
        """Return the text with digits as ``#`` of every `Apath.folded` id that is remembered."""
        return {apath.folded: normalise_apath(raw) for raw, apath in self._by_raw.items()}

    def to_state(self) -> list[str]:
        """Return the raw texts in order of arrival."""
        return list(self._by_raw)

    def load_state(self, state: Iterable[Any]) -> None:
        """Take over the texts of `to_state`."""
        for raw in state:
            self.intern(str(raw))
