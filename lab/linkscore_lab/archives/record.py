"""What comes out of an archive: records, what was damaged, and how many records point elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class ArchiveRecord(NamedTuple):
    """One stored answer of a site.

    Attributes
    ----------
    url
        Absolute http(s) URL that was requested, as stored.
    status
        HTTP status; 200 for a page stored without one.
    headers
        HTTP headers, names in title case; of a repeated one the last. Without those that described the
        coding or the connection.
    body
        Bytes of the body, transfer and content coding undone.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


class Damage(NamedTuple):
    """A record that could not be read.

    Attributes
    ----------
    file
        Path of the file; inside a WACZ the path of the package, a slash, and the name inside.
    offset
        Byte of `file` where the record begins; where several records share one compressed member, where that
        member begins. For a URL list the number of its line, from 1.
    reason
        What is wrong, for people.
    """

    file: str
    offset: int
    reason: str


@dataclass(slots=True)
class ReadTally:
    """What one pass has met besides responses.

    Attributes
    ----------
    damage
        Records that could not be read, in stored order.
    revisits
        Records that only say "as before"; they resolve to nothing.
    """

    damage: list[Damage] = field(default_factory=list)
    revisits: int = 0


class BrokenFrame(Exception):
    """A compressed member cannot be decompressed to its end; what it holds cannot be trusted."""


class BadRecord(Exception):
    """A record breaks a rule of its format; the message says which."""
