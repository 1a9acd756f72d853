"""The events of a crawl: everything that ever changes its state, as plain values for the log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgpack

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.features.types import LOG_NAMES, Links, PageFeatures, PageLayout, PageWords, PathTrie


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

    It is in the log as a whole, not only by digest: recovery then needs no relearning and does not depend on
    the numerical libraries installed.
    """

    site: str
    built_from_seq: int
    digest: str
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
    """Pages of a site are said to have changed, at a time in seconds."""

    site: str
    urls: list[str]
    time: float


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


def encode(event: Event) -> bytes:
    """Return an event as bytes; cost O(links)."""
    if isinstance(event, PageFetched):
        values = [getattr(event, name) for name in PageFetched.__slots__]
        values[-1] = _plain(event.features) if event.features is not None else None
    else:
        values = [getattr(event, name) for name in type(event).__slots__]
    packed: bytes = msgpack.packb([_NUMBERS[type(event)], values])
    return packed


def decode(raw: bytes) -> Event:
    """Return the event of some bytes.

    Raises
    ------
    CorruptState
        If they are not an event.
    """
    try:
        number, values = msgpack.unpackb(raw, strict_map_key=False)
        kind = KINDS[number]
        if kind is PageFetched and values[-1] is not None:
            values[-1] = _features(values[-1])
        return kind(*values)
    except (ValueError, LookupError, TypeError, AttributeError, msgpack.UnpackException) as exc:
        raise CorruptState(f"event: {exc}") from exc


def _plain(features: PageFeatures) -> dict[str, Any]:
    links = features.links
    plain = {name: getattr(features, name) for name in PageFeatures.__slots__}
    plain["paths"] = [getattr(features.paths, name) for name in PathTrie.__slots__]
    layout = features.layout
    plain["layout"] = layout and [getattr(layout, name) for name in PageLayout.__slots__]
    differing = {
        i: key for i, (key, url) in enumerate(zip(links.keys, links.urls, strict=True)) if key != url
    }
    columns = (name for name in Links.__slots__ if name != "keys")
    plain["links"] = {LOG_NAMES.get(name, name): getattr(links, name) for name in columns}
    plain["links"]["keys"] = differing
    plain["words"] = features.words and features.words.plain()
    return plain


def _features(plain: dict[str, Any]) -> PageFeatures:
    links = plain["links"]
    keys = list(links["urls"])
    for i, key in links["keys"].items():
        keys[i] = key
    layout = PageLayout(*plain["layout"]) if plain["layout"] else None
    words = PageWords(*plain["words"]) if plain["words"] else None
    read = {
        "paths": PathTrie(*plain["paths"]),
        "links": Links.of_columns({**links, "keys": keys}),
        "layout": layout,
        "words": words,
    }
    return PageFeatures(**{**plain, **read})
