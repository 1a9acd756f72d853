"""The links of a question, as columns; the compiled kernels read them from the bytes of its message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkscore_scoring.columns import Later, Repeated
from linkscore_scoring.kernels import KERNELS
from linkscore_scoring.kernels.protocol import PackedLinks
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import picking

_REMEMBERED = 32_768  # URLs, as many as `urls.identity` remembers
_reader = KERNELS.link_reader(_REMEMBERED)


@dataclass(frozen=True, slots=True)
class AskedLinks:
    """Links that are asked about, as columns of equal length.

    Attributes
    ----------
    urls, keys
        Absolute URLs, and their identities.
    tickets
        Tickets as they were sent, empty if there is none.
    anchors
        Anchor texts; empty if unknown.
    """

    urls: Sequence[str]
    keys: Sequence[str]
    tickets: Repeated[bytes]
    anchors: Sequence[str]
    packed: PackedLinks | None = None
    """The same links as the kernels hold them, None if they do not."""

    def __len__(self) -> int:
        return len(self.urls)

    def rows(self, rows: Sequence[int]) -> AskedLinks:
        """Return some of the links."""
        pick = picking(rows)
        tickets = Repeated.of(pick(list(self.tickets)))
        return AskedLinks(pick(self.urls), pick(self.keys), tickets, pick(self.anchors))

    def groups(self, model: SiteModel, link_paths: Sequence[int]) -> Repeated[tuple[int, int]] | None:
        """Return URL pattern and link path of each link, None if it takes a look at every URL.

        Parameters
        ----------
        model
            The site that scores them.
        link_paths
            Of each distinct ticket.
        """
        if self.packed is None or model.sessions.names():
            return None
        doubtful = self.packed.doubtful()
        if model.sessions.strip_all(doubtful) != doubtful:
            return None
        return _repeated(
            *self.packed.groups(model.memory.table, link_paths, lambda key: model.patterns.levels(key)[-1])
        )


def read_links(raw: bytes, *, max_chars: int, identify: Callable[[str], str | None]) -> AskedLinks | None:
    """Return the links of a `ScoreLinksRequest`; None if Python has to read it, or if a URL has no identity.

    Parameters
    ----------
    raw
        The request.
    max_chars
        Longest URL whose identity is told without `identify`.
    identify
        Gives the identity of a URL that is not plain, None if it has none.
    """
    packed = _reader.read(raw, max_chars, identify)
    if packed is None:
        return None
    n = len(packed)
    tickets = _repeated(*packed.tickets())
    return AskedLinks(Later(packed.urls, n), Later(packed.keys, n), tickets, Later(packed.anchors, n), packed)


def _repeated(distinct: list[Any], places: bytes) -> Repeated[Any]:
    return Repeated(distinct, np.frombuffer(places, dtype=np.int64))
