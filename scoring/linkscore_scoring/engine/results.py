"""What the engine answers, as plain columns; the server turns them into messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.policies.answers import NOTHING, PageNote
from linkscore_scoring.policies.base import Explanation
from linkscore_scoring.types import PageObservation, Revisit


class Stop(NamedTuple):
    """That a crawl or a site stops: a `Decision` of the wire contract, and why, one sentence with figures."""

    decision: int
    reason: str


@dataclass(slots=True)
class Coverage:
    """How much of what is wanted was found; fields as of the message in the wire contract."""

    share: float
    low: float
    high: float
    found: float
    waiting: float
    unseen: float
    fetches: int


@dataclass(slots=True)
class Standing:
    """Whether a crawl and one site of it go on; None where they do. See the message in the wire contract."""

    crawl: Stop | None = None
    site: Stop | None = None
    fetches_left: int | None = None
    spent: bool = False
    coverage: Coverage | None = None


@dataclass(slots=True)
class ScoredLinks:
    """Scores of a list of links.

    `scores`: (n_links,) float64 in [0, 1]. `bucket_names`, `buckets`: distinct buckets, and the index of each
    link's. `bucket_values`: value of each distinct bucket, in [0, 1]. `ticket_values`, `tickets`: distinct
    tickets, and the index of each link's; empty where none are written. `verdicts`: 1 FOLLOW, 2 SKIP, 0 no
    advice; None if no link has any. `url_types`: type of each link's URL, see `types.INDEX`; None if no
    link has any. `skip_reasons`: why each link is to skip by a setting of the crawl, 0 if none says so; None
    if no link is. `in_scope`: per link, or None if all are. `stage`: lowest stage of the sites involved.
    """

    scores: NDArray[np.float64]
    bucket_names: list[str] = field(default_factory=list)
    buckets: list[int] = field(default_factory=list)
    bucket_values: list[float] = field(default_factory=list)
    ticket_values: list[bytes] = field(default_factory=list)
    tickets: list[int] = field(default_factory=list)
    verdicts: list[int] | None = None
    in_scope: list[bool] | None = None
    stage: int = 0
    url_types: list[int] | None = None
    skip_reasons: list[int] | None = None


@dataclass(slots=True)
class PageOutcome:
    """What became of a page event.

    `note` is what the policy says of the page. `learning` says that a learning of the site is running.
    `revisit` is what it says of changes of the page, None unless the crawl fetches pages again.
    `standing` says whether to go on, None without a budget. `reserved` are the uses that the page reserves,
    of those that the crawl respects.
    """

    seq: int
    site: str
    duplicate: bool
    observation: PageObservation | None
    stage: int
    policy: str
    links: ScoredLinks
    learning: bool = False
    note: PageNote = NOTHING
    standing: Standing | None = None
    revisit: Revisit | None = None
    reserved: list[str] = field(default_factory=list)


Outcome = PageOutcome | bool | int | list[int] | None
"""What came of an event: of a page its outcome; of feedback and of a batch of browse logs whether it was new;
of a learning that was asked for the number of the event it started at; of a notice of changes what it
answered; of others nothing."""


@dataclass(slots=True)
class LinkExplained:
    """Why one link has its score, and why it is to skip if a setting of the crawl says so."""

    score: float
    bucket: str
    explanation: Explanation
    source: int
    tag_path: str
    stage: int
    skip_reason: int = 0
