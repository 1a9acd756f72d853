"""What can be asked about links: scores, orders, reasons. Nothing here changes a crawl."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.clustering.sample import SamplePage
from linkscore_scoring.encodings import encoding
from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.crawl_sites import CrawlSites
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.engine.link_batches import batch_of, batch_of_known, hash_of
from linkscore_scoring.engine.preview import as_seen
from linkscore_scoring.engine.results import (
    LinkExplained,
    PageClassified,
    PageOutcome,
    ScoredLinks,
    indexed,
)
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.engine.site_ranking import ranked
from linkscore_scoring.engine.strip_session_ids import session_free
from linkscore_scoring.engine.tickets import NO_TICKET, Ticket
from linkscore_scoring.errors import NotLearned
from linkscore_scoring.pagination.page_links import with_page_links
from linkscore_scoring.policies import capabilities
from linkscore_scoring.policies.answers import KnownUrl, SitesRanked
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.fetch import Fetch
from linkscore_scoring.site.model import Stage
from linkscore_scoring.types import UNKNOWN_CLUSTER, LinkBatch, links_of_page


class LinkQuestions(CrawlSites):
    """What can be asked about pages, links, buckets and the order of sites."""

    def classify(self, event: PageFetched) -> PageClassified:
        """Return what a page is taken for. Only reads."""
        shard = self.sites.get(event.site) or self.stranger(event.site)
        model, cluster, distance = shard.model, UNKNOWN_CLUSTER, 0.0
        event = session_free(event, model.sessions)
        if model.templates is not None and event.features is not None and event.features.paths.parents:
            known = model.memory.contexts(hash_of(event.features.key))
            page = SamplePage(event.features.key, event.features.paths, in_links=known)
            cluster, distance = model.templates.nearest(page)
        seen = as_seen(self._fetch(self.seq, event), model, cluster)
        kind = capabilities.page_type_of(shard.served, seen, model)
        return PageClassified(event.site, cluster, distance, kind, model.stage, model.revision)

    def score_page(self, event: PageFetched, choice: PolicyChoice | None = None) -> ScoredLinks:
        """Score the links of a page that was applied before, with today's model; changes nothing."""
        shard = self.shard(event.site)
        event = session_free(event, shard.model.sessions)
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
            outcome.thread_id = capabilities.thread_of(policy, seen, shard.model)
            outcome.page_type = capabilities.page_type_of(policy, seen, shard.model)

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
        page_links = model.pagination.standing(
            fetch.page_links, links.urls, model.apaths.classless(batch.apaths)
        )
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
            url_types=with_page_links(scored.url_types, page_links),
        )
