"""The events of a crawl: everything that ever changes its state, as plain values for the log."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import compress
from operator import ne
from typing import Any

import msgspec

from linkscore_scoring.errors import reading_state
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.state import packed


@dataclass(frozen=True, slots=True)
class PageFetched:
    """A page was fetched, or a fetch failed (`features` is None).

    `url` is the final URL, `requested_key` the identity of the URL asked for, `now_s` the fetch time in
    seconds since the epoch.
    """

    event_id: str
    site: str
    url: str
    requested_key: str
    status_code: int
    fetch_error: str
    ticket: bytes
    now_s: float
    features: PageFeatures | None


@dataclass(frozen=True, slots=True)
class FeedbackGiven:
    """Extraction found a page worth `reward` in [0, 1]; named by identity `key`, by `ticket`, or both."""

    event_id: str
    site: str
    key: str
    ticket: bytes
    reward: float
    now_s: float


@dataclass(frozen=True, slots=True)
class LearningRequested:
    """A client asked to learn a site now."""

    site: str


@dataclass(frozen=True, slots=True)
class ModelActivated:
    """A model learned beside the request path becomes active.

    It is in the log as a whole: recovery then needs no relearning and does not depend on the numerical
    libraries installed.
    """

    site: str
    built_from_seq: int
    learned: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class LearningFailed:
    """The learning of a site that started at event `built_from_seq` came to nothing; the next may start."""

    site: str
    built_from_seq: int


@dataclass(frozen=True, slots=True)
class LogsMined:
    """What the browse logs of a site gave replaces what they gave before; see `site.browse`.

    It is in the log as a whole, so that recovery reads no logs and mines nothing.
    """

    site: str
    mined: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class BrowseBatchImported:
    """A batch of browse log records was taken in; its visits lie beside the log, deletable.

    `days` says how many visits are of each day (since 1970-01-01 UTC), `counts` how many records had each
    outcome, see `crawl.BrowseLedger.outcomes`.
    """

    batch_id: str
    days: dict[int, int]
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class ChangesNotified:
    """Pages of a site are said to have changed, at a time in seconds.

    `dates`: by a listing of another site, read at that time: when each changed, 0 if it does not say; else
    empty.
    """

    site: str
    urls: list[str]
    time: float
    dates: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ConfigChanged:
    """The crawl was created (first event of every log) or changed."""

    config: dict[str, Any]


Event = (
    PageFetched
    | FeedbackGiven
    | LearningRequested
    | ModelActivated
    | LearningFailed
    | LogsMined
    | BrowseBatchImported
    | ChangesNotified
    | ConfigChanged
)

KINDS: dict[int, type[Event]] = {
    1: ConfigChanged,
    2: PageFetched,
    3: FeedbackGiven,
    4: LearningRequested,
    5: ModelActivated,
    6: LearningFailed,
    7: LogsMined,
    8: BrowseBatchImported,
    9: ChangesNotified,
}
"""Every kind of event by its number in the log; a number is never given away again."""

_NUMBERS = {kind: number for number, kind in KINDS.items()}
_READ = msgspec.msgpack.Decoder(tuple[int, dict[int, str], msgspec.Raw])
_READERS = {number: msgspec.msgpack.Decoder(kind) for number, kind in KINDS.items()}


def encode(event: Event) -> bytes:
    """Return an event as bytes, without identities that are as their URLs, and texts; cost O(links)."""
    number = _NUMBERS[type(event)]
    if not isinstance(event, PageFetched) or event.features is None:
        return packed([number, {}, event])
    links, keys = event.features.links, event.features.links.keys
    differing = dict(compress(enumerate(keys), map(ne, keys, links.urls)))
    try:  # left out for as long as it is written: a copy without them takes as long as writing it
        links.keys = []
        return packed([number, differing, event])
    finally:
        links.keys = keys


def decode(raw: bytes) -> Event:
    """Return the event of some bytes.

    Raises `CorruptState` if they are not an event.
    """
    with reading_state("event"):
        number, differing, values = _READ.decode(raw)
        event = _READERS[number].decode(values)
        if isinstance(event, PageFetched) and event.features is not None:
            links = event.features.links
            links.keys = list(links.urls)
            for row, key in differing.items():
                links.keys[row] = key
    return event
