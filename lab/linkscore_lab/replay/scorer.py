"""What orders a replay: something that takes fetched pages and feedback and answers with scored links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from linkscore_lab.replay.results import ScoreExplanation
from linkscore_lab.replay.stored import StoredSite
from linkscore_scoring.wanted import Wanted


@dataclass(frozen=True, slots=True)
class ReplayVisit:
    """One fetch of a replay.

    Attributes
    ----------
    index
        Fetches before it.
    key
        Identity that was asked for.
    number
        Record it ended at.
    ticket
        Ticket of the link that led there, empty for a start page.
    """

    index: int
    key: str
    number: int
    ticket: bytes


@dataclass(slots=True)
class PageScores:
    """Scored links of a page as columns.

    Attributes
    ----------
    keys
        Identity of each link's target; empty for a link that names nothing to crawl.
    scores
        (n_links,) in [0, 1].
    bucket_names, buckets
        Distinct buckets, and the index of each link's.
    ticket_values, tickets
        Distinct tickets, and the index of each link's.
    skip
        Whether the policy says not to follow a link; empty if it never does.
    rescored_keys, rescored_scores
        Other links whose score changed (policies that are `per_url`).
    learned
        The page's site is learned.
    wanted
        Identities of pages the model would like fetched, most urgent first.
    stopped
        Why the crawl stops by its budget; empty while it goes on.
    """

    keys: Sequence[str]
    scores: Sequence[float]
    bucket_names: Sequence[str]
    buckets: Sequence[int]
    ticket_values: Sequence[bytes]
    tickets: Sequence[int]
    skip: Sequence[bool] = ()
    rescored_keys: Sequence[str] = ()
    rescored_scores: Sequence[float] = ()
    learned: bool = False
    wanted: Sequence[str] = ()
    stopped: str = ""


class CrawlScorer(Protocol):
    """The side of a replay that decides; one object serves one crawl.

    Attributes
    ----------
    per_url
        Scores move URL by URL: keep a queue ordered by score, not one a bucket.
    """

    per_url: bool

    def begins(self, site: StoredSite, number: int) -> Sequence[tuple[int, float]]:
        """Note that the fetch of a record begins; return records whose score that changes, and the new."""
        ...

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        """Take in a fetched page, or a failed fetch, and score its links."""
        ...

    def feedback(self, key: str, url: str, reward: float) -> None:
        """Take in what extraction found on a page."""
        ...

    def plan(
        self, buckets: Sequence[str], waiting: Sequence[int], in_flight: Mapping[str, int], n: int
    ) -> tuple[Sequence[float], Sequence[int]]:
        """Return the value of each bucket, and how many of its links to fetch next, at most n in all.

        `waiting` links of each bucket wait; `in_flight` fetches are not answered yet, by bucket.
        """
        ...

    def skips(self, links: Sequence[tuple[str, bytes]]) -> Sequence[bool]:
        """Say of each link, by identity and ticket, whether the policy says today not to follow it."""
        ...

    def explain(self, url: str, key: str, ticket: bytes) -> ScoreExplanation | None:
        """Say why a link has its score."""
        ...

    def close(self) -> None:
        """Forget the crawl."""
        ...


@dataclass(frozen=True, slots=True)
class GivenExample:
    """An example page given to a crawl: URL, body and content type as stored, and page type."""

    url: str
    body: bytes
    content_type: str
    page_type: str


@dataclass(slots=True)
class CrawlSetup:
    """How a crawl is set up, whichever side runs it.

    Attributes
    ----------
    policy, params
        The policy, and the parameters that differ from their defaults.
    seed
        Of its random draws.
    clusterer, paper
        How sites are learned; see `LearningConfig`.
    examples
        Example pages of what is wanted.
    wanted
        What is wanted in words.
    experience
        What other crawls learned, to start from.
    limits
        Settings that forbid links, by the name of their field of `Crawl`, as plain values.
    """

    policy: str
    params: dict[str, object] = field(default_factory=dict)
    seed: int = 0
    clusterer: str = ""
    paper: bool = False
    examples: Sequence[GivenExample] = ()
    wanted: Wanted | None = None
    experience: Sequence[bytes] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)


def best_first(
    values: Sequence[float], waiting: Sequence[int], n: int
) -> tuple[Sequence[float], Sequence[int]]:
    """Return the plan that empties one bucket after the other, best first; see `CrawlScorer.plan`."""
    takes = [0] * len(values)
    for row in sorted(range(len(values)), key=lambda row: -values[row]):
        takes[row] = min(n, waiting[row])
        n -= takes[row]
    return values, takes
