"""What forbids links whatever a policy says: settings of a crawl."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.policies.base import SKIP, Policy
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import State, Stateful
from linkscore_scoring.types import LinkBatch, PageObservation, UrlRule

_CRAWL_BUDGET = 1  # of the wire contract: SKIP_REASON_CRAWL_BUDGET


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


class CopyHypothesis(NamedTuple):
    """That some links lead to copies; fields as of the message in the wire contract."""

    name: str
    tries: int
    agreed: int
    probability: float


@dataclass(slots=True)
class SentPage:
    """A page as it was sent, for a limit to read what it goes by.

    `fetched_bytes`: bytes that came over the network. `url`: the URL asked for. `headers`: name and value of
    each header that the crawler sent. `body`, `content_encoding`: what came, and how it is compressed.
    `kind`: name of its reader, empty for a page as any other.
    """

    fetched_bytes: int
    url: str = ""
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    content_encoding: str = ""
    kind: str = ""


class SiteLimit(Stateful):
    """A limit on one site: what it counts there. Events change it, questions do not.

    `limit`: the setting; the table of limits exchanges it when the crawl is changed.
    """

    limit: Any

    def observe(self, event: PageFetched, page: PageObservation, site: SiteModel, policy: Policy) -> None:
        """Take in a fetch, that the site and the policy which serves have taken in already."""

    def unchanged(self, event: PageFetched) -> None:
        """Take in a fetch that found a page as it was: nobody else learns from it."""

    def notice(self, event: PageFetched) -> bool:
        """Take in what says something of the site and is no page of it; return whether it was such."""
        return False

    def judge(self, links: LinkBatch, site: SiteModel, reasons: list[int]) -> None:
        """Write why links are to skip, a `SkipReason` of the wire contract, where there is no reason yet."""

    def judge_of(self, page: PageFeatures, reasons: list[int]) -> None:
        """Write, as `judge` does, why the links of a page are to skip by what the page itself says."""

    def reserved(self, event: PageFetched) -> Collection[str]:
        """Return the uses of a page that the site reserves, of those that the crawl respects."""
        return ()

    def duplicates(self, links: LinkBatch, site: SiteModel) -> list[float] | None:
        """Return how probable each link leads to a copy of another page; None if nothing says so of any."""
        return None

    def hypotheses(self, site: SiteModel) -> list[CopyHypothesis]:
        """Return which links are taken to lead to copies, the surest first."""
        return []

    def memory_bytes(self) -> int:
        """Return what it takes in memory, estimated; 0 if next to nothing."""
        return 0

    def stop(self, site: SiteModel) -> Stop | None:
        """Return why the site stops, None if it goes on."""
        return None

    def coverage(self) -> Coverage | None:
        """Return how much of what is wanted was found, None if the limit does not tell."""
        return None

    def rules(self, site: SiteModel) -> list[UrlRule]:
        """Return what is skipped as URL rules, the surest first; see `UrlRule.kind`."""
        return []


class CrawlLimit(Stateful):
    """A limit on a crawl as a whole; `limit` as of `SiteLimit`."""

    limit: Any

    def observe(self, event: PageFetched) -> None:
        """Take in a fetch."""

    def stop(self) -> Stop | None:
        """Return why the crawl stops, None if it goes on."""
        return None

    def fetches_left(self) -> int | None:
        """Return how many fetches are left, None without such a bound."""
        return None


class Limit(ABC):
    """A setting that forbids links, by its value in the configuration of a crawl: plain values."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @abstractmethod
    def problems(self, *, groups: int) -> Iterator[FieldProblem]:
        """Yield what is wrong with the value, fields from the setting on; `groups` is that of the crawl."""

    def read(self, page: SentPage) -> dict[str, Any]:
        """Return the facts of a page that events keep for it, as plain values."""
        return {}

    def of_site(self) -> SiteLimit | None:
        """Return what it counts on a new site, None if nothing."""
        return None

    def of_crawl(self) -> CrawlLimit | None:
        """Return what it counts in a new crawl, None if nothing."""
        return None


@cache
def limits() -> Mapping[str, type[Limit]]:
    """Return the settings that forbid links, by the name of their field of `Crawl`."""
    from linkscore_scoring.limits.budget import BudgetLimit
    from linkscore_scoring.limits.copies import CopiesLimit  # each is made of what is above
    from linkscore_scoring.limits.respect import RespectLimit

    return {"budget": BudgetLimit, "copies": CopiesLimit, "respect": RespectLimit}


def limit_of(name: str, value: Any) -> Limit:
    """Return a setting."""
    return limits()[name](value)


def configured_sites(before: Mapping[str, SiteLimit], config: Mapping[str, Any]) -> dict[str, SiteLimit]:
    """Return what the settings of a crawl count on a site; a setting that was there before counts on."""
    found = {}
    for name, value in config.items():
        limit = limit_of(name, value)
        site = before.get(name) or limit.of_site()
        if site is not None:
            site.limit, found[name] = limit, site
    return found


def judged(
    limits: Mapping[str, SiteLimit],
    links: LinkBatch,
    site: SiteModel,
    *,
    spent: bool,
    page: PageFeatures | None = None,
) -> list[int] | None:
    """Return why links are to skip by the limits on their site; None if none is.

    `spent` says that the crawl as a whole stops; `page` is what all links were found on.
    """
    reasons = [_CRAWL_BUDGET if spent else 0] * len(links)
    for limit in limits.values():
        limit.judge(links, site, reasons)
        if page is not None:
            limit.judge_of(page, reasons)
    return reasons if any(reasons) else None


def duplicates(limits: Mapping[str, SiteLimit], links: LinkBatch, site: SiteModel) -> list[float] | None:
    """Return how probable each link leads to a copy, by the first limit that tells; None if none does."""
    told = (limit.duplicates(links, site) for limit in limits.values())
    return next((found for found in told if found is not None), None)


def with_skips(verdicts: Sequence[int] | None, reasons: Sequence[int]) -> list[int]:
    """Return verdicts of which those with a reason are SKIP."""
    advised = verdicts or [0] * len(reasons)
    return [SKIP if reason else verdict for reason, verdict in zip(reasons, advised, strict=True)]


class CrawlLimits:
    """The limits on a crawl as a whole, and which of its sites have stopped.

    `stopped`: why sites stopped, by name.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._limits: dict[str, CrawlLimit] = {}
        self.stopped: dict[str, Stop] = {}
        self.configure(config)

    def configure(self, config: Mapping[str, Any]) -> None:
        """Take over the settings of a crawl; one that was there before counts on."""
        before, self._limits = self._limits, {}
        for name, value in config.items():
            limit = limit_of(name, value)
            counted = before.get(name) or limit.of_crawl()
            if counted is not None:
                counted.limit, self._limits[name] = limit, counted
        if not self._limits:
            self.stopped = {}

    def __bool__(self) -> bool:
        return bool(self._limits)

    @property
    def spent(self) -> bool:
        """Whether the crawl as a whole stops, whatever its sites do."""
        return any(limit.stop() is not None for limit in self._limits.values())

    def observe(self, event: PageFetched, stop: Stop | None) -> None:
        """Take in a fetch, after which its site stops or goes on."""
        for limit in self._limits.values():
            limit.observe(event)
        self.site_stops(event.site, stop)

    def site_stops(self, site: str, stop: Stop | None) -> None:
        """Take note that a site stops or goes on."""
        if stop is None:
            self.stopped.pop(site, None)
        else:
            self.stopped[site] = stop

    def stop(self, sites: int) -> Stop | None:
        """Return why a crawl stops that has so many sites: by itself, or as all of them have stopped."""
        for limit in self._limits.values():
            if (stop := limit.stop()) is not None:
                return stop
        if not self.stopped or len(self.stopped) < sites:
            return None
        *_, last = self.stopped.values()
        said = last.reason if sites == 1 else f"all {sites} sites stopped; the last: {last.reason}"
        return Stop(last.decision, said)

    @property
    def fetches_left(self) -> int | None:
        """Fetches that are left, None without such a bound."""
        left = [n for limit in self._limits.values() if (n := limit.fetches_left()) is not None]
        return min(left) if left else None

    def to_state(self) -> State:
        """Return what is counted as plain values."""
        counted: dict[str, Any] = {name: limit.to_state() for name, limit in self._limits.items()}
        return {"counted": counted, "stopped": [[site, *stop] for site, stop in self.stopped.items()]}

    def load_state(self, state: State) -> None:
        """Take over what `to_state` returned."""
        for name, limit in self._limits.items():
            if name in state["counted"]:
                limit.load_state(state["counted"][name])
        self.stopped = {site: Stop(decision, reason) for site, decision, reason in state["stopped"]}
