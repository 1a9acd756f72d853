"""What a crawl learned of a site, as a small document that another crawl can be given to start from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from linkscore_scoring.errors import InvalidInput

ANYTHING = 0
"""Stands for every URL shape, or every tag path."""

VERSION = 1
"""Of the document. One of another version is refused: what its hashes are of may differ."""
MAX_BYTES = 131_072
"""A bound of the wire contract: bytes of a document."""
MAX_GROUPS = 1_000
"""A bound: groups of links of a document, those that most fetches came through; 70 bytes each."""

MAX_FETCHES = 1e12
"""A bound: fetches of a group; no crawl has as many."""

_FORMAT = "linkscore experience"
_DECIMALS = 4  # that are written: finer than any reward is known


@dataclass(frozen=True, slots=True)
class LinkGroup:
    """Links of one URL shape at one tag path, or of all of either, and what came of following them."""

    shape: int  # hash of the shape of their URLs, or `ANYTHING`
    link_path: int  # hash of their tag path with classes, digits folded, or `ANYTHING`
    fetches: float  # pages fetched through them, in pulls, in (0, `MAX_FETCHES`]
    # reward, hub: mean reward of these pages, and mean yield of the links found there, both in [0, 1]
    reward: float
    hub: float


@dataclass(frozen=True, slots=True)
class Experience:
    """What one crawl learned of one site: what came of following which links, by hashes that sites share.

    No URL, host or text is in it, so it can be handed on; who guesses a tag path can tell by its hash whether
    the site had it. Sites of the same software share tag paths and URL shapes, others few or none.

    Examples
    --------
    >>> learned = Experience.of([LinkGroup(ANYTHING, 7, fetches=12.0, reward=0.9, hub=0.0)])
    >>> Experience.from_bytes(learned.to_bytes()) == learned
    True
    """

    groups: tuple[LinkGroup, ...]

    @classmethod
    def of(cls, groups: Iterable[LinkGroup]) -> Experience:
        """Return the experience of some groups: those most fetched, in an order that is always the same."""
        most = sorted(groups, key=lambda group: (-group.fetches, group.shape, group.link_path))[:MAX_GROUPS]
        return cls(tuple(sorted(most, key=lambda group: (group.shape, group.link_path))))

    def to_bytes(self) -> bytes:
        """Return the document: JSON, a line a group, the same for the same experience."""
        rows = ",\n".join(json.dumps(_row(group)) for group in self.groups)
        return f'{{"format": "{_FORMAT}", "version": {VERSION}, "groups": [\n{rows}\n]}}\n'.encode()

    @classmethod
    def from_bytes(cls, document: bytes) -> Experience:
        """Return the experience of a document.

        Raises InvalidInput saying what is wrong with it; the field is the document itself.
        """
        if len(document) > MAX_BYTES:
            raise InvalidInput(f"must be at most {MAX_BYTES} bytes, got {len(document)}", field="")
        try:
            found = msgspec.json.decode(document, type=_Document)
        except (msgspec.DecodeError, RecursionError) as exc:
            rule = f"must be a document of `linkscore export experience`, version {VERSION}: {exc}"
            raise InvalidInput(rule, field="") from exc
        return cls.of(LinkGroup(int(row[0], 16), int(row[1], 16), *row[2:]) for row in found.groups)


_Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
_Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
_Row = tuple[_Hash, _Hash, Annotated[float, msgspec.Meta(gt=0.0, le=MAX_FETCHES)], _Share, _Share]


class _Document(msgspec.Struct):
    """The document: of each group its shape, tag path, fetches, reward and hub."""

    format: Literal["linkscore experience"]
    version: Literal[1]
    groups: Annotated[list[_Row], msgspec.Meta(max_length=MAX_GROUPS)]


def _row(group: LinkGroup) -> list[str | float]:
    counts = (round(count, _DECIMALS) for count in (group.fetches, group.reward, group.hub))
    return [f"{group.shape:016x}", f"{group.link_path:016x}", *counts]
