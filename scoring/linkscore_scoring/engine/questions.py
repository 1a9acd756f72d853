"""What can be asked of a crawl: scores, orders, reasons. Nothing here changes it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.encodings import encoding
from linkscore_scoring.engine.advice import DEFAULT_HORIZON, SiteAdvice, advise
from linkscore_scoring.engine.batches import batch_of, batch_of_known, hash_of
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl_wide import CrawlWide
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.engine.results import (
    LinkExplained,
    PageClassified,
    PageOutcome,
    ScoredLinks,
    indexed,
)
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.engine.site_ranking import SitesRanked, ranked
from linkscore_scoring.engine.site_rules import site_rules
from linkscore_scoring.engine.tickets import NO_TICKET, Ticket, TicketBook
from linkscore_scoring.engine.unseen import as_seen
from linkscore_scoring.errors import NotFound, NotLearned
from linkscore_scoring.exporters.base import SiteRules
from linkscore_scoring.features.urls import host_of
from linkscore_scoring.policies.base import KnownUrl, Policy
from linkscore_scoring.site.examples import ExamplePage, ExampleWanted
from linkscore_scoring.site.fetch import Fetch
from linkscore_scoring.site.flips.page import flips_of, with_flips
from linkscore_scoring.site.links import UNKNOWN_APATH, UNKNOWN_CLUSTER, LinkBatch, links_of_page
from linkscore_scoring.site.model import SiteModel, Stage
from linkscore_scoring.site.sample import SamplePage
from linkscore_scoring.site.suggestion import Suggestion
from linkscore_scoring.site.url_rules import SeedWanted, UrlRule


class CrawlQuestions:
    """The sites of a crawl and everything that can be asked of them; `CrawlModel` adds what changes them.

    Parameters
    ----------
    config
        How the crawl is set up.
    ticket_key
        Secret for ticket MACs.
    domain_of
        Host -> registrable domain; used by crawls of scope ``domain`` only.
    """

    def __init__(
        self, config: CrawlConfig, *, ticket_key: bytes, domain_of: Callable[[str], str] | None = None
    ) -> None:
        self.config = config
        self.seq = 0
        self.crawl_wide = CrawlWide(config)
        self.sites: OrderedDict[str, SiteShard] = OrderedDict()
        self._hosts: dict[int, str] = {}
        self._book = TicketBook(ticket_key, config.name)
        self._domain_of = domain_of or (lambda host: host)

    def shard(self, site: str) -> SiteShard:
        """Return a site.

        Raises
        ------
        NotFound
            If the crawl has no such site.
        """
        if site not in self.sites:
            raise NotFound(
                f"site {site!r}: not among the {len(self.sites)} sites of crawl {self.config.name!r}"
            )
        return self.sites[site]

    def site_of(self, url: str) -> str:
        """Return the site a URL belongs to: host with port, or registrable domain in scope ``domain``."""
        host = host_of(url)
        return self._domain_of(host) if self.config.scope == "domain" else host

    def site_of_ticket(self, raw: bytes) -> str:
        """Return the site whose model wrote a ticket; empty if missing, foreign or of a dropped site."""
        ticket = self._book.read(raw)
        return self._hosts.get(ticket.site, "") if ticket is not None else ""

    def classify(self, event: PageFetched) -> PageClassified:
        """Return what a page is taken for. Only reads."""
        shard = self.sites.get(event.site) or self.stranger(event.site)
        model, cluster, distance = shard.model, UNKNOWN_CLUSTER, 0.0
        if model.templates is not None and event.features is not None and event.features.paths.parents:
            known = model.memory.contexts(hash_of(event.features.key))
            page = SamplePage(event.features.key, event.features.paths, in_links=known)
            cluster, distance = model.templates.nearest(page)
        seen = as_seen(self._fetch(self.seq, event), model, cluster)
        kind = shard.served.page_type_of(seen, model)
        return PageClassified(event.site, cluster, distance, kind, model.stage, model.revision)

    def score_page(self, event: PageFetched, choice: PolicyChoice | None = None) -> ScoredLinks:
        """Score the links of a page that was applied before, with today's model; changes nothing."""
        shard = self.shard(event.site)
        fetch = self._fetch(self.seq, event)
        depth = shard.model.memory.depth(fetch.requested) or 0
        return self._score_page(
            shard, shard.policy(choice), event, fetch, depth, shard.model.cluster_of(fetch.key)
        )

    def answer_by(self, choice: PolicyChoice, event: PageFetched, outcome: PageOutcome) -> None:
        """Let a policy answer for a page that was just applied; one that does not serve rescores nothing."""
        if (shard := self.shard(event.site)).policy(choice) is not shard.served:
            outcome.rescored_urls, outcome.rescored = [], ScoredLinks(np.zeros(0))
        outcome.policy, outcome.links = choice.name, self.score_page(event, choice)
        if (seen := outcome.observation) is not None:
            policy = shard.policy(choice)
            outcome.thread_id = policy.thread_of(seen, shard.model)
            outcome.page_type = policy.page_type_of(seen, shard.model)

    def score_links(
        self,
        urls: Sequence[str],
        keys: Sequence[str],
        tickets: Sequence[bytes],
        anchors: Sequence[str],
        *,
        choice: PolicyChoice | None = None,
        encode: str = "",
        require_learned: bool = False,
    ) -> ScoredLinks:
        """Score links from URL, identity and ticket; changes nothing. Cost O(n) plus the policy's.

        Raises
        ------
        NotLearned
            If `require_learned` is set, the policy needs a learned site and one is not.
        """
        found = ScoredLinks(
            np.zeros(len(urls)), priorities=np.zeros(len(urls)) if encode else None, stage=Stage.READY
        )
        buckets = [""] * len(urls)
        verdicts, url_types = [0] * len(urls), [0] * len(urls)
        for shard, rows, batch in self._by_site(urls, keys, tickets, anchors):
            policy = shard.policy(choice)
            if require_learned and policy.needs_learning and shard.model.stage < Stage.READY:
                raise NotLearned(
                    f"site {shard.model.name!r} is {shard.model.stage.name}, {policy.name} needs it READY"
                )
            scored = policy.score(batch, shard.model)
            found.scores[rows] = scored.scores
            found.stage = min(found.stage, shard.model.stage)
            if found.priorities is not None:
                found.priorities[rows] = encoding(encode)(scored.scores, shard.scale_of(policy.name))
            for row, bucket in zip(rows, scored.buckets, strict=True):
                buckets[row] = f"{shard.model.name}/{bucket}"
            for row, verdict in zip(rows, scored.verdicts or (), strict=False):
                verdicts[row] = verdict
            for row, kind in zip(rows, scored.url_types or (), strict=False):
                url_types[row] = kind
        found.bucket_names, found.buckets = indexed(buckets)
        found.verdicts = verdicts if any(verdicts) else None
        found.url_types = url_types if any(url_types) else None
        return found

    def rank_buckets(
        self, buckets: Sequence[str], choice: PolicyChoice | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the order of buckets, best first (ties as given), and the value of each bucket given.

        Buckets of sites that are not known are worth 0. Cost O(n log n) plus the policy's.
        """
        values = np.zeros(len(buckets))
        by_site: dict[str, list[int]] = {}
        for row, name in enumerate(buckets):
            by_site.setdefault(name.partition("/")[0], []).append(row)
        for site, rows in by_site.items():
            if (shard := self.sites.get(site)) is not None:
                local = [buckets[row].partition("/")[2] for row in rows]
                values[rows] = shard.policy(choice).value(local, shard.model)
        return np.argsort(-values, kind="stable"), values

    def rank_sites(
        self,
        sites: Sequence[str],
        waiting: Sequence[int | None],
        n: int,
        choice: PolicyChoice | None = None,
    ) -> SitesRanked:
        """Order sites that have URLs waiting, and hand out n fetches; see `engine.site_ranking`."""
        known = [self.sites.get(site) for site in sites]
        stranger = self.stranger("") if None in known else None
        shards = [shard or stranger for shard in known]
        return ranked(sites, [(s.policy(choice), s.model) for s in shards if s], waiting, n, self.seq)

    def explain(
        self,
        urls: Sequence[str],
        keys: Sequence[str],
        tickets: Sequence[bytes],
        anchors: Sequence[str],
        choice: PolicyChoice | None = None,
    ) -> list[LinkExplained]:
        """Say why links have their scores, in input order."""
        explained: list[LinkExplained | None] = [None] * len(urls)
        for shard, rows, batch in self._by_site(urls, keys, tickets, anchors):
            policy = shard.policy(choice)
            scored = policy.score(batch, shard.model)
            for i, (row, why) in enumerate(zip(rows, policy.explain(batch, shard.model), strict=True)):
                explained[row] = LinkExplained(
                    float(scored.scores[i]),
                    f"{shard.model.name}/{scored.buckets[i]}",
                    why,
                    batch.sources[i],
                    shard.model.apaths.get(batch.apaths[i]).raw,
                    shard.model.stage,
                )
        return [entry for entry in explained if entry is not None]

    def suggest_examples(
        self, n: int, site: str = "", choice: PolicyChoice | None = None
    ) -> list[tuple[str, ExampleWanted]]:
        """Return up to `n` fetched pages whose label would teach most, with their site, best first.

        Cost O(URL patterns) a site, 1 ms; `site` empty means all of them.

        Raises
        ------
        NotFound
            If the crawl has no such site.
        """
        asked = [site] if site else list(self.sites)
        found = [
            (name, wanted)
            for name in asked
            for shard in [self.shard(name)]
            for wanted in shard.policy(choice).suggest_examples(n, shard.model)
        ]
        return sorted(found, key=lambda pair: -pair[1].value)[:n]

    def advice(self, site: str, horizon: int = DEFAULT_HORIZON) -> SiteAdvice:
        """Return what the next `horizon` fetches of a site should bring, what groups brought, and traps."""
        return advise(self.shard(site), horizon)

    def rules(self, site: str, choice: PolicyChoice | None = None) -> list[UrlRule]:
        """Return what a policy learned about the URLs of a site."""
        shard = self.shard(site)
        return shard.policy(choice).rules(shard.model)

    def seeds(self, site: str, n: int, choice: PolicyChoice | None = None) -> list[SeedWanted]:
        """Return up to `n` pages to start a crawl of a site from, best first."""
        shard = self.shard(site)
        return shard.policy(choice).suggest_seeds(n, shard.model)

    def site_rules(
        self, site: str, choice: PolicyChoice | None = None, *, min_confidence: float = 0.0
    ) -> SiteRules:
        """Return all that can be said about the URLs of a site without the service; see `exporters`."""
        shard = self.shard(site)
        policy = shard.policy(choice)
        return site_rules(self.config, shard.model, policy, self.seq, min_confidence)

    def policy_state(self, site: str, choice: PolicyChoice | None = None) -> str:
        """Say what a policy goes by on a site, and why it abstains if it does."""
        shard = self.shard(site)
        return shard.policy(choice).state_of(shard.model)

    def fetch_plan(self, site: str, n: int) -> list[Suggestion]:
        """Return up to `n` pages to fetch for learning: those the served policy asks for, then the sample."""
        shard = self.shard(site)
        wanted = shard.served.fetches_wanted(n, shard.model)
        named = {suggestion.url for suggestion in wanted}
        return [*wanted, *(s for s in self.sample_plan(site, n) if s.url not in named)][:n]

    def sample_plan(self, site: str, n: int) -> list[Suggestion]:
        """Return up to `n` pages that would teach most about a site that is not learned yet."""
        model = self.shard(site).model
        words = {
            "one_per_apath": "one link of each tag path of a page",
            "unused_link": "a link of a tag path seen before",
        }
        return [
            Suggestion(model.plan_urls[p.url], words[p.reason], 1.0 / (1.0 + i))
            for i, p in enumerate(model.plan.plan(n))
        ]

    def _by_site(
        self, urls: Sequence[str], keys: Sequence[str], tickets: Sequence[bytes], anchors: Sequence[str]
    ) -> list[tuple[SiteShard, list[int], LinkBatch]]:
        """Group links by the site whose model scores them: the ticket's, else that of the URL's host."""
        read = [self._book.read(raw) or NO_TICKET for raw in tickets]
        rows: dict[str, list[int]] = {}
        for row, (url, ticket) in enumerate(zip(urls, read, strict=True)):
            rows.setdefault(self._hosts.get(ticket.site) or self.site_of(url), []).append(row)
        return [
            (shard, of_site, batch_of(shard.model, of_site, urls, keys, read, anchors))
            for site, of_site in rows.items()
            for shard in [self.sites.get(site) or self.stranger(site)]
        ]

    def stranger(self, site: str) -> SiteShard:
        """Return a site as it would be before its first page, without keeping it."""
        model = SiteModel(site, self.config.learning, self.config.bounds)
        return SiteShard(model, self.config, self.crawl_wide, self.examples_of(site))

    def examples_of(self, site: str) -> list[ExamplePage]:
        """Return the example pages of a site, and those whose URL is not known."""
        return [page for page in self.config.examples if not page.url or self.site_of(page.url) == site]

    def _fetch(self, seq: int, event: PageFetched) -> Fetch:
        features = event.features
        ticket = self._book.read(event.ticket) or NO_TICKET
        mine = ticket is not NO_TICKET and self._hosts.get(ticket.site) == event.site
        return Fetch(
            seq=seq,
            url=event.url,
            key=hash_of(features.key) if features else hash_of(event.requested_key),
            requested=hash_of(event.requested_key),
            requested_key=event.requested_key,
            canonical=hash_of(features.canonical_key or features.key) if features else 0,
            features=features,
            link_keys=[hash_of(key) for key in features.links.keys] if features else [],
            in_scope=self._in_scope(event) if features else [],
            flips=flips_of(features.url, features.links) if features else [],
            source=ticket.source if mine else 0,
            apath=ticket.apath if mine else UNKNOWN_APATH,
            depth=None if ticket is NO_TICKET else ticket.depth,
            seed=self.config.seed,
        )

    def _in_scope(self, event: PageFetched) -> Sequence[int]:
        urls = event.features.links.urls if event.features else []
        if self.config.scope == "any":
            return [row for row, url in enumerate(urls) if url]
        roots: dict[str, bool] = {}
        rows = []
        for row, url in enumerate(urls):
            root = url[: url.find("/", 8)] if "/" in url[8:] else url
            if root not in roots:
                roots[root] = bool(root) and self.site_of(url) == event.site
            if roots[root]:
                rows.append(row)
        return rows

    def _score_known(self, shard: SiteShard, policy: Policy, found: Sequence[KnownUrl]) -> ScoredLinks:
        """Score URLs that a policy named; they keep the tickets they were given."""
        scored = policy.score(batch_of_known(shard.model, found), shard.model)
        names, buckets = indexed(scored.buckets)
        names = [f"{shard.model.name}/{name}" for name in names]
        return ScoredLinks(
            scored.scores,
            names,
            buckets,
            verdicts=scored.verdicts,
            stage=shard.model.stage,
            url_types=scored.url_types,
        )

    def _score_page(
        self, shard: SiteShard, policy: Policy, event: PageFetched, fetch: Fetch, depth: int, cluster: int
    ) -> ScoredLinks:
        features, model = event.features, shard.model
        if features is None or not features.links.urls:
            return ScoredLinks(np.zeros(0))
        links = features.links
        ids = [model.apaths.find(raw).id for raw in links.apath_table]
        batch = links_of_page(
            links.urls,
            fetch.link_keys,
            [ids[i] for i in links.apaths],
            model.patterns_of(fetch.link_keys, links.keys),
            links.anchors,
            source=cluster,
            depth=depth + 1,
        )
        scored = policy.score(batch, model)
        names, buckets = indexed(scored.buckets)
        site, revision = hash_of(event.site), model.revision
        values = [self._book.write(Ticket(site, fetch.key, id_, cluster, depth + 1, revision)) for id_ in ids]
        inside = set(fetch.in_scope) if len(fetch.in_scope) < len(links) else None
        return ScoredLinks(
            scored.scores,
            [f"{event.site}/{name}" for name in names],
            buckets,
            values,
            links.apaths,
            scored.verdicts,
            None if inside is None else [row in inside for row in range(len(links))],
            stage=model.stage,
            url_types=with_flips(scored.url_types, fetch.flips),
        )
