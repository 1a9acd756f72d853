"""What can be asked of a crawl: about pages, links, buckets and sites. Nothing here changes it.

Which buckets the next fetches come from: they are chosen one by one, each from the bucket that is worth most
once those before it are in flight. Sites do not know of each other there, but for who is worth more. So each
group of sites says in which order it would begin fetches and what each would be worth then (`offers`), and
the places are handed out by these lists (`allocate`). The sites of one process are one group.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from heapq import heappop, heappush, merge
from itertools import filterfalse, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import Repeated, picking
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.links import Ticket, batch_of
from linkscore_scoring.engine.results import LinkExplained, ScoredLinks
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.policies.answers import FetchesInFlight, Plan, allocate_best
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.model import SiteModel, Stage
from linkscore_scoring.types import ExampleWanted, LinkBatch

_MAX_VALUED = 50_000
"""A bound, chosen: buckets valued anew in one question. Beyond it the last known values decide."""


class SiteInFlight:
    """The buckets of one site in a question, with what is in flight there.

    Policy and model are held only once something is: a question may name more sites than fit in memory.

    `look`: gives policy and model of the site, the same each time. `under_way`: fetches begun and not
    answered, by bucket. `fill`: whether all places are to be filled, however little is known.

    `asked`: how many fetches there are in the question. `in_flight`: those, and the ones that this question
    began.
    """

    def __init__(
        self,
        look: Callable[[], tuple[Policy, SiteModel]],
        under_way: Mapping[str, int],
        *,
        fill: bool = False,
    ) -> None:
        self._look, self._under_way, self._fill = look, under_way, fill
        self.asked = self.in_flight = sum(under_way.values())

    def values(self, buckets: Sequence[str]) -> NDArray[np.float64]:
        """Return the value of each bucket."""
        if self.in_flight and self._counted is not None:
            return self._counted.values(buckets)
        policy, model = self._look()
        return policy.value(buckets, model)

    @property
    def floor(self) -> float:
        """Value below which a link may wait for the answers that are out; 0 if none ever does."""
        return 0.0 if self._fill or self._counted is None else self._counted.floor

    @property
    def has_place(self) -> bool:
        """Whether one more fetch may begin."""
        return self._fill or self._counted is None or self.in_flight < self._counted.places

    def begin(self, bucket: str) -> None:
        """Count one more fetch."""
        self.in_flight += 1
        if self._counted is not None:
            self._counted.begin(bucket)

    def value(self, bucket: str, last: float) -> float:
        """Return the value of a bucket by now, that was worth `last` before."""
        return last if self._counted is None else float(self._counted.values([bucket])[0])

    @cached_property
    def _counted(self) -> FetchesInFlight | None:
        """What the policy counts fetches in, None if they make no difference to it."""
        policy, site = self._look()
        counted = policy.in_flight(site)
        if counted is not None:
            for bucket, n in self._under_way.items():
                counted.begin(bucket, n)
        return counted


@dataclass(frozen=True, slots=True)
class BucketEntry:
    """A bucket in a question: its row, its site if that is known, its name there, and how many links wait."""

    row: int
    site: SiteInFlight | None
    name: str
    waiting: int


class Offer(NamedTuple):
    """A fetch that a group would begin.

    `cost`: minus its value then: the least offer counts first, and among equal ones the first row. `row`: of
    its bucket in the question.
    """

    cost: float
    row: int


def offers(
    rows: NDArray[np.int64], entry_of: Callable[[int], BucketEntry], values: NDArray[np.float64], n: int
) -> list[Offer]:
    """Return the fetches that a group would begin with n places, best first.

    Fewer than n if nothing more is worth one or no site has a place left. Changes what the sites count as in
    flight. Values only fall while fetches begin, so a bucket is valued anew when its turn comes. Cost: a sort
    of the rows and O((n + valuations) log n_rows), of which there are 50,000 at most.

    `rows`: rows of buckets of which links wait, ascending. `entry_of`: the bucket of a row. `values`: value
    of each row at the beginning, (n_rows,).
    """
    waiting = rows[np.argsort(-values[rows], kind="stable")]
    turns = zip((-values[waiting]).tolist(), waiting.tolist(), strict=True)
    entries: dict[int, BucketEntry] = {}
    heap: list[tuple[float, int, int]] = []  # cost, row, and in flight when that was its cost
    taken, found = Counter[int](), list[Offer]()
    ahead = next(turns, None)
    valued = 0
    while (heap or ahead) and len(found) < n:
        if ahead is not None and not (heap and heap[0] < ahead):
            cost, row = ahead
            entry = entries[row] = entry_of(row)
            in_flight = entry.site.asked if entry.site is not None else 0
            ahead = next(turns, None)
        else:
            cost, row, in_flight = heappop(heap)
            entry = entries[row]
        site = entry.site
        if taken[row] >= entry.waiting or (site is not None and not site.has_place):
            continue
        if site is not None and site.in_flight != in_flight and valued < _MAX_VALUED:
            valued += 1
            heappush(heap, (-site.value(entry.name, -cost), row, site.in_flight))
            continue
        if site is not None:
            if site.in_flight and -cost < site.floor:
                continue
            site.begin(entry.name)
        found.append(Offer(cost, row))
        taken[row] += 1
        heappush(heap, (cost, row, in_flight))
    return found


def allocate(groups: Sequence[Sequence[Offer]], values: NDArray[np.float64], n: int) -> Plan:
    """Hand out n fetches by the offers of groups, whose rows are those of the whole question.

    `groups`: offers of each, as `offers` returned them. `values`: value of each row at the beginning,
    (n_rows,).
    """
    takes = np.zeros(len(values), dtype=np.int64)
    for offer in islice(merge(*groups), n):
        takes[offer.row] += 1
    return Plan(values, takes)


class CrawlQueries:
    """Reads of one crawl, at any time between two events.

    `crawl`: the crawl that is asked.
    """

    def __init__(self, crawl: CrawlModel) -> None:
        self.crawl = crawl

    def score_links(
        self,
        urls: Sequence[str],
        keys: Sequence[str],
        tickets: Sequence[bytes],
        anchors: Sequence[str],
        *,
        rows: Sequence[int] = (),
        n: int = 0,
    ) -> ScoredLinks:
        """Score links from URL, identity and ticket; cost O(n) and the policy's.

        `rows`, `n`: their places among n links; others have score 0, and a bucket without a name.
        """
        rows, n = rows or range(len(urls)), n or len(urls)
        found = []
        for shard, own, batch in self._by_site(urls, keys, tickets, anchors):
            found.append((picking(own)(rows), shard.score(batch, is_spent=self.crawl.is_spent)))
        is_whole = len(found) == 1 and len(rows) == n
        return found[0][1] if is_whole else joined(found, n)

    def rows_by_site(self, urls: Sequence[str], tickets: Sequence[bytes]) -> dict[str, Sequence[int]]:
        """Return which of some links are scored by the model of each site."""
        return self._rows_of(urls, self._read(tickets))

    def plan_fetches(
        self,
        buckets: Sequence[str],
        n: int,
        *,
        waiting: Sequence[int] = (),
        in_flight: Mapping[str, int] | None = None,
        fill: bool = False,
    ) -> Plan:
        """Return what buckets are worth while fetches are under way, and how many links of each come next.

        Buckets of sites that are not known are worth 0. The same question at the same event has the same
        answer. Cost O(n log n) plus that of `offers` and the policy's, which is asked once for each distinct
        bucket.

        `buckets`: those of which links wait; one that is named again is valued, and gets nothing. `n`: places
        to fill. `waiting`: links of each that wait; empty: enough of all. `in_flight`: fetches begun and not
        answered, by the bucket their link was taken from. `fill`: fill all places. Else fewer are while too
        little is known of a site (`FetchesInFlight.places`).
        """
        values, own = self.offer_fetches(buckets, n, waiting=waiting, in_flight=in_flight, fill=fill)
        return allocate([own], values, n)

    def offer_fetches(
        self,
        buckets: Sequence[str],
        n: int,
        *,
        waiting: Sequence[int] = (),
        in_flight: Mapping[str, int] | None = None,
        fill: bool = False,
    ) -> tuple[NDArray[np.float64], list[Offer]]:
        """Return what buckets are worth, and the fetches that would begin if all n places were for them.

        `allocate` makes one plan of what groups of sites answer; parameters as of `plan_fetches`.
        """
        given = Repeated.of(buckets)
        under_way: dict[str, dict[str, int]] = {}
        for name, count in (in_flight or {}).items():
            site, _, own = name.partition("/")
            under_way.setdefault(site, {})[own] = count

        @cache
        def flight_of(site: str) -> SiteInFlight | None:
            if site not in self.crawl.sites:
                return None
            return SiteInFlight(partial(self._look, site), under_way.get(site, {}), fill=fill)

        values = self._worth(given.distinct, flight_of, under_way)[given.places]
        if over := self._stopped(name.partition("/")[0] for name in given):
            values[list(over)] = 0.0
            waiting = [0 if row in over else waiting[row] if waiting else n for row in range(len(values))]
        if not n:
            return values, []
        rows = np.unique(given.places, return_index=True)[1]  # the first of each bucket
        if waiting:
            rows = rows[np.asarray(waiting)[rows] > 0]

        def entry_of(row: int) -> BucketEntry:
            site, _, own = given[row].partition("/")
            return BucketEntry(row, flight_of(site), own, waiting[row] if waiting else n)

        return values, offers(rows, entry_of, values, n)

    def unvalued(self, buckets: Sequence[str]) -> list[list[str]]:
        """Return the buckets of each site whose values would be kept and are not known."""
        known, by_site = self.crawl.sites.known_values.buckets, defaultdict[str, list[str]](list)
        if self.crawl.crawl_wide.is_local:
            for name in filterfalse(known.__contains__, buckets):
                by_site[name.partition("/")[0]].append(name)
        return list(by_site.values())

    def all_stopped(self, buckets: Sequence[str]) -> bool:
        """Say whether nothing is to be fetched any more of any of these buckets."""
        stopped = self._stopped(name.partition("/")[0] for name in buckets)
        return bool(buckets) and len(stopped) == len(buckets)

    def _stopped(self, sites: Iterable[str]) -> set[int]:
        """Return the rows of sites from which nothing is to be fetched any more."""
        if (budget := self.crawl.budget) is None:
            return set()
        return {row for row, site in enumerate(sites) if self.crawl.is_spent or site in budget.stopped}

    def _worth(
        self,
        names: Sequence[str],
        flight_of: Callable[[str], SiteInFlight | None],
        under_way: Collection[str],
    ) -> NDArray[np.float64]:
        """Return the values of distinct buckets: of sites that did not change, those known already.

        Of a site with fetches in flight, one of `under_way`, nothing is known beforehand.
        """
        keeps = self.crawl.crawl_wide.is_local
        known = self.crawl.sites.known_values
        worth = np.full(len(names), np.nan)
        if keeps:
            worth = np.array(list(map(known.buckets.get, names)), dtype=np.float64)
        for site in under_way:
            hidden = set(known.names.get(site, ()))
            worth[[place for place, name in enumerate(names) if name in hidden]] = np.nan
        by_site: dict[str, dict[int, str]] = {}
        for place in np.flatnonzero(np.isnan(worth)).tolist():
            site, _, own = names[place].partition("/")
            by_site.setdefault(site, {})[place] = own
        for site, own_names in by_site.items():
            flight, places = flight_of(site), list(own_names)
            worth[places] = flight.values(list(own_names.values())) if flight is not None else 0.0
            if keeps and flight is not None and site not in under_way:
                known.keep(site, dict(zip(picking(places)(names), worth[places].tolist(), strict=True)))
        return worth

    def _look(self, site: str) -> tuple[Policy, SiteModel]:
        shard = self.crawl.sites[site]
        return shard.order, shard.model

    def _site_value(self, site: str) -> float:
        """Return the value of a site; of one that is not at hand, what is kept of it."""
        value = self.crawl.sites.kept_value(site)
        if value is not None:
            return value
        shard = self.crawl.known_or_new(site)
        return shard.order.site_value(shard.model)

    def rank_sites(self, sites: Sequence[str], waiting: Sequence[int | None], n: int) -> Plan:
        """Order sites with URLs waiting, and hand out n fetches: by a host bandit, or the best site first.

        Cost O(sites + n log sites), plus the policy's.

        `sites`: names, all different. `waiting`: URLs of each that wait, None: enough. A site of which none
        wait sleeps: it has a value, no fetch. `n`: fetches to hand out; fewer are if all sites fall asleep.
        """
        values = self.site_values(sites)
        if stopped := self._stopped(sites):
            waiting = [0 if row in stopped else most for row, most in enumerate(waiting)]
        left = [n if most is None else min(n, most) for most in waiting]
        bandit = self.crawl.known_or_new(sites[0]).order.site_bandit() if sites else None
        if bandit is not None:
            return bandit.rank(sites, values, left, n, self.crawl.seq)
        return best_sites(values, waiting, n)

    def site_values(self, sites: Sequence[str]) -> NDArray[np.float64]:
        """Return what a fetch from each site is worth, (n_sites,) float64."""
        values, unseen = np.zeros(len(sites)), None
        known = self.crawl.sites.known_values.sites if self.crawl.crawl_wide.is_local else {}
        for row, site in enumerate(sites):
            if site in known:
                values[row] = known[site]
            elif site in self.crawl.sites:
                values[row] = known[site] = self._site_value(site)
            else:  # sites never seen are one and the same, asked once
                unseen = self._site_value(site) if unseen is None else unseen
                values[row] = unseen
        return values

    def explain(
        self,
        urls: Sequence[str],
        keys: Sequence[str],
        tickets: Sequence[bytes],
        anchors: Sequence[str],
    ) -> list[LinkExplained]:
        """Say why links have their scores, in input order."""
        explained: dict[int, LinkExplained] = {}
        for shard, rows, batch in self._by_site(urls, keys, tickets, anchors):
            model, scored = shard.model, shard.score(batch, is_spent=self.crawl.is_spent)
            for i, (row, why) in enumerate(zip(rows, shard.order.explain(batch, model), strict=True)):
                explained[row] = LinkExplained(
                    float(scored.scores[i]),
                    scored.bucket_names[scored.buckets[i]],
                    why,
                    batch.sources[i],
                    model.link_paths.get(batch.link_paths[i]).raw,
                    model.stage,
                    scored.skip_reasons[i] if scored.skip_reasons is not None else 0,
                )
        return [explained[row] for row in range(len(urls))]

    def suggest_examples(self, n: int, site: str) -> list[tuple[str, ExampleWanted]]:
        """Return up to `n` fetched pages of a site whose label would teach most, with the site.

        Cost O(URL patterns), 1 ms. Raises `NotFound` if the crawl has no such site.
        """
        shard = self.crawl.shard(site)
        return [(site, wanted) for wanted in shard.served.suggest_examples(n, shard.model)]

    def _by_site(
        self, urls: Sequence[str], keys: Sequence[str], tickets: Sequence[bytes], anchors: Sequence[str]
    ) -> Iterator[tuple[SiteShard, Sequence[int], LinkBatch]]:
        """Yield links by the site whose model scores them: the ticket's, else that of the URL's host."""
        read = self._read(tickets)
        for site, own in self._rows_of(urls, read).items():
            shard, pick = self.crawl.known_or_new(site), picking(own)
            known = Repeated(read.distinct, read.places[np.array(own)])
            yield shard, own, batch_of(shard.model, pick(urls), pick(keys), known, pick(anchors))

    def _read(self, tickets: Sequence[bytes]) -> Repeated[Ticket | None]:
        given = Repeated.of(tickets)
        return Repeated(list(map(self.crawl.book.read, given.distinct)), given.places)

    def _rows_of(self, urls: Sequence[str], read: Repeated[Ticket | None]) -> dict[str, Sequence[int]]:
        hosts = [self.crawl.sites.host(ticket.site) if ticket is not None else "" for ticket in read.distinct]
        if len(hosts) == 1 and hosts[0]:
            return {hosts[0]: range(len(urls))}
        by_site: defaultdict[str, list[int]] = defaultdict(list)
        for row, (url, place) in enumerate(zip(urls, read.places.tolist(), strict=True)):
            by_site[hosts[place] or self.crawl.site_of(url)].append(row)
        return {**by_site}


def joined(parts: Sequence[tuple[Sequence[int], ScoredLinks]], n: int) -> ScoredLinks:
    """Return the answers of several sites as one, in the order of a question of `n` links."""
    whole = ScoredLinks(np.zeros(n), stage=Stage.READY)
    names, values = [""] * n, [0.0] * n
    optional: dict[str, list[Any]] = {}
    for rows, part in parts:
        whole.stage = min(whole.stage, part.stage)
        whole.scores[rows] = part.scores
        for row, bucket in zip(rows, part.buckets, strict=True):
            names[row], values[row] = part.bucket_names[bucket], part.bucket_values[bucket]
        for name in ("verdicts", "url_types", "skip_reasons"):
            if (told := getattr(part, name)) is not None:
                column = optional.setdefault(name, [0] * n)
                for row, value in zip(rows, told, strict=True):
                    column[row] = value
    for name, column in optional.items():
        setattr(whole, name, column)
    numbered = Repeated.of(names)  # buckets in the order of their first rows, as of one site
    whole.bucket_names, whole.buckets = numbered.distinct, numbered.places.tolist()
    first = np.unique(numbered.places, return_index=True)[1]
    whole.bucket_values = [values[row] for row in first.tolist()]
    return whole


def best_sites(values: NDArray[np.float64], waiting: Sequence[int | None], n: int) -> Plan:
    """Hand out n fetches by what sites are worth; `waiting` as of `CrawlQueries.rank_sites`."""
    awake = {row: n if most is None else min(n, most) for row, most in enumerate(waiting) if most != 0}
    shares = allocate_best({row: float(values[row]) for row in awake}, awake, n)
    return Plan(values, np.array([shares[row] for row in range(len(values))], dtype=np.int64))
