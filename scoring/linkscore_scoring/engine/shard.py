"""One site of a crawl: its model, and the policy that learns on it.

What policies of all sites of a crawl know together is `CrawlWide`; see ADR 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, repeat
from typing import Any

import numpy as np

from linkscore_scoring.browse_logs.mining import MinedSite
from linkscore_scoring.columns import Repeated, picking
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.limits import SiteLimits, SkippedLinks
from linkscore_scoring.engine.links import Ticket, TicketBook
from linkscore_scoring.engine.results import ScoredLinks, Stop
from linkscore_scoring.errors import NoRules
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.hashing import hash_of
from linkscore_scoring.policies.answers import CrawlKnowledge, Experience
from linkscore_scoring.policies.base import SKIP, Policy
from linkscore_scoring.policies.guard import failure_of
from linkscore_scoring.policies.registry import builtin_policy
from linkscore_scoring.revisits.pages import RevisitSettings
from linkscore_scoring.revisits.site import SiteRevisits
from linkscore_scoring.site.learning import LearnedSite
from linkscore_scoring.site.model import Fetch, SiteModel
from linkscore_scoring.state import plain
from linkscore_scoring.types import (
    PAGE_FLIP,
    ExamplePage,
    FeedbackObservation,
    LinkBatch,
    PageObservation,
)
from linkscore_scoring.urls.pattern_tree import ROOT

_SITE_BYTES, _LINK_BYTES, _PAGE_BYTES, _SKIPPED_BYTES = 18_000, 270, 5_000, 400
"""Memory of a site, of each link it remembers, of each sampled page, and of each link to skip. Fitted to
resident memory under `harvest`, on drawn and real sites."""
_NODE_BYTES, _LEARNED_NODE_BYTES = 29, 45
"""Memory of each tag path node of a sampled page, and what learning the site adds to it; fitted with them."""


class CrawlWide:
    """What the policy of a crawl knows across sites, `known`, None if it knows nothing; see ADR 7.

    `is_local`: what is said of a site holds until an event changes that site. Of a policy from another
    package nobody knows, for it may fail once.
    """

    def __init__(self, config: CrawlConfig) -> None:
        self.known: CrawlKnowledge | None = None
        self._of: tuple[Any, ...] = ("",)  # key of the policy, and what it is to find
        self.configure(config)

    def configure(self, config: CrawlConfig) -> None:
        """Take over the crawl's policy; one that is kept keeps what it knows."""
        if config.policy.key != self._of[0]:
            self.known = config.policy.crawl_wide(config.seed)
        self._of = config.policy.key, config.wanted
        self.is_local = builtin_policy(config.order.name) is not None and self.known is None

    def of(self, config: CrawlConfig) -> CrawlKnowledge | None:
        """Return what a site shares: what is known, if it is not read back as the crawl was set up before."""
        if (config.policy.key, config.wanted) == self._of:
            return self.known
        return config.policy.crawl_wide(config.seed)

    def to_state(self) -> dict[str, Any] | None:
        """Return the knowledge as plain values."""
        return self.known.to_state() if self.known is not None else None

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the knowledge of `to_state`, or raise `CorruptState`."""
        if self.known is not None:
            self.known.load_state(state)


class SiteShard:
    """A site with the policy of the crawl.

    `crawl_wide` is what it shares with those of other sites, `examples` the example pages of this one.
    `served`: the policy. `order`: what says in which order to fetch, the policy itself as a rule.
    """

    def __init__(
        self,
        model: SiteModel,
        config: CrawlConfig,
        crawl_wide: CrawlWide,
        examples: Sequence[ExamplePage] = (),
    ) -> None:
        self.model = model
        self._crawl_wide = crawl_wide
        self._key = ""
        self.served: Policy
        self._examples, self._wanted = examples, config.wanted
        self.limits = SiteLimits()
        self.skipped = SkippedLinks()
        self.revisitor: SiteRevisits | None = None
        self._sampled = (0, 0)  # pages of the sample, and their nodes
        self.configure(config, examples)

    def configure(self, config: CrawlConfig, examples: Sequence[ExamplePage] = ()) -> None:
        """Take over the crawl's policy; one that stays keeps what it knows unless it failed."""
        self.model.navigates = config.policy.has("reads_templates")
        is_told = (examples, config.wanted) == (self._examples, self._wanted)
        self._examples, self._wanted = examples, config.wanted
        if self._key != config.policy.key or failure_of(self.served):
            self._key, self.served = config.policy.key, self._made(config)
        elif not is_told:
            self.served.crawl_wide = self._crawl_wide.of(config)
            self.served.set_examples(examples, self.model)
            self.served.set_wanted(config.wanted, self.model)
        self.order = config.order.made(config.seed) if config.observe_only else self.served
        self.limits.configure(config.limits)
        if config.revisit is None:
            self.revisitor = None
        elif self.revisitor is None:
            self.revisitor = SiteRevisits(
                RevisitSettings(**config.revisit), max_pages=self.model.bounds.links
            )
        else:
            self.revisitor.configure(RevisitSettings(**config.revisit))

    @property
    def is_unsupervised(self) -> bool:
        """Whether neither examples, nor words, nor feedback say what is wanted of this site."""
        return not (self._examples or self._wanted or self.model.history.reported)

    def observe(self, fetch: Fetch) -> PageObservation:
        """Let the model, then the policy, learn from the fetch."""
        observation = self.model.observe(fetch)
        self.served.observe(observation, self.model)
        if observation.reported is not None:  # before the page came: told again, the policy knows it now
            page = observation
            self._label(
                FeedbackObservation(
                    page.seq, page.key, page.url, page.pattern, page.contexts, observation.reported
                )
            )
        if self.revisitor is not None:
            self.revisitor.observe(fetch, observation, self.model)
        return observation

    def score(self, links: LinkBatch, *, is_spent: bool, page: PageFeatures | None = None) -> ScoredLinks:
        """Return in which order to fetch links, and what the settings of the crawl forbid.

        `is_spent`: the crawl as a whole stops. `page`: what all links were found on.
        """
        scored = self.order.score(links, self.model)
        buckets = Repeated.of(scored.buckets)
        if self.order.residual:
            values = [float(value) for value in self.order.value(buckets.distinct, self.model)]
        else:  # a link is worth its bucket
            of_last = np.zeros(len(buckets.distinct))
            of_last[buckets.places] = scored.scores
            values = of_last.tolist()
        found = ScoredLinks(
            scored.scores,
            [f"{self.model.name}/{name}" for name in buckets.distinct],
            buckets.places.tolist(),
            values,
            verdicts=scored.verdicts,
            url_types=scored.url_types,
            stage=self.model.stage,
            skip_reasons=scored.skip_reasons,
        )
        if self.limits.is_set:
            self.limits.judge(found, links, self.model, spent=is_spent, page=page)
        if found.skip_reasons is not None:
            rows = zip(found.skip_reasons, scored.verdicts or [0] * len(links), strict=True)
            found.verdicts = [SKIP if reason else verdict for reason, verdict in rows]
        return found

    def score_page(
        self,
        fetch: Fetch,
        book: TicketBook,
        *,
        is_spent: bool,
        seen: PageObservation | None = None,
    ) -> ScoredLinks:
        """Score all links of a page that the site knows, in scope or not, and write their tickets.

        `is_spent`: as of `score`. `seen`: the page as just taken in.
        """
        page, model = fetch.features, self.model
        if page is None or not page.links.urls:
            return ScoredLinks(np.zeros(0))
        depth = seen.depth if seen else model.memory.depth(fetch.requested) or 0
        cluster = seen.cluster if seen else model.cluster_of(fetch.key)
        taken = seen.links if seen and not seen.redirects else None
        links, inside = page.links, fetch.in_scope
        ids = [model.link_paths.find(raw).id for raw in links.link_path_table]
        batch = taken
        if batch is None or len(inside) < len(links.urls):
            pick, rows = picking(inside), range(len(links.urls))
            known = taken.patterns if taken else model.patterns_of(pick(fetch.link_keys), pick(links.keys))
            pattern_of = dict(zip(inside, known, strict=True))
            batch = LinkBatch(
                links.urls,
                fetch.link_keys,
                list(map(ids.__getitem__, links.link_paths)),
                [cluster] * len(rows),
                [depth + 1] * len(rows),
                list(map(pattern_of.get, rows, repeat(ROOT))),
                links.anchors,
            )
            if taken is not None:
                batch.group_like(taken, inside, model.link_paths.folded)
        found = self.score(batch, is_spent=is_spent, page=page)
        if any(fetch.page_links):
            flips = list(map(PAGE_FLIP.__mul__, map(bool, fetch.page_links)))
            pairs = zip(found.url_types or (), flips, strict=False)
            found.url_types = [own or flip for own, flip in pairs] or flips
        ticket = Ticket(hash_of(model.name), fetch.key, cluster=cluster, depth=depth + 1)
        found.ticket_values, found.tickets = book.write_all(ticket, ids), links.link_paths
        if len(inside) < len(links.urls):
            own = {*inside, *fetch.back}
            found.in_scope = list(map(own.__contains__, range(len(links.urls))))
        return found

    def activate(self, learned: LearnedSite) -> None:
        """Make a learned model active and tell the policy."""
        self.model.activate(learned)
        self.served.model_activated(self.model)

    def mined(self, mined: MinedSite) -> None:
        """Take over what the browse logs of the site gave, and tell the policy."""
        self.model.browse = mined
        self.served.logs_mined(self.model)

    def feedback(self, event: FeedbackObservation) -> None:
        """Let the model, then the policy, learn from feedback."""
        self.model.feedback(event)
        self._label(event)

    def _label(self, event: FeedbackObservation) -> None:
        if self.revisitor is not None:
            self.revisitor.feedback(event)
        self.served.feedback(event, self.model)

    def experience(self) -> Experience:
        """Return what was learned on the site that helps on others; raises `NoRules` if that is nothing."""
        learned = self.served.experience(self.model)
        if learned is None or not learned.groups:
            name = self.model.name
            raise NoRules(
                f"site {name!r}: {self.served.name} has learned nothing yet that helps on other sites"
            )
        return learned

    def stop(self) -> Stop | None:
        """Return why the site stops by a setting of the crawl, None if it goes on."""
        return self.limits.budget.stop(self.model) if self.limits.budget is not None else None

    def memory_bytes(self) -> int:
        """Estimate what the site takes in memory, from counts; O(pages sampled since the last time)."""
        site, (count, nodes) = self.model, self._sampled
        new = islice(reversed(site.sample), max(0, len(site.sample) - count))
        nodes += sum(page.nodes for page in new)
        self._sampled = (len(site.sample), nodes)
        a_node = _NODE_BYTES if site.templates is None else _NODE_BYTES + _LEARNED_NODE_BYTES
        others = self.revisitor.memory_bytes() if self.revisitor is not None else 0
        others += self.limits.copies.memory_bytes() if self.limits.copies is not None else 0
        others += _SKIPPED_BYTES * len(self.skipped.latest)
        return (
            _SITE_BYTES
            + _LINK_BYTES * len(site.memory)
            + _PAGE_BYTES * len(site.sample)
            + a_node * nodes
            + others
        )

    def to_state(self) -> dict[str, Any]:
        """Return the site as plain values."""
        return plain(self.state_parts())

    def state_parts(self) -> dict[str, Any]:
        """Return what the site keeps as it is, for `state.packed`."""
        return self._parts() | {"policy": self.served.to_state()}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the site of `to_state`; a setting that is not there was made later."""
        for name, part in self._parts().items():
            if part is not None and state[name] is not None:
                part.load_state(state[name])
        self.served.load_state(state["policy"])

    def _parts(self) -> dict[str, Any]:
        """Return what the site keeps beside its policy."""
        return {
            "model": self.model,
            "skipped": self.skipped,
            "revisits": self.revisitor,
            **self.limits.parts(),
        }

    def _made(self, config: CrawlConfig) -> Policy:
        policy = config.policy.made(config.seed)
        policy.crawl_wide = self._crawl_wide.of(config)
        if self.model.templates is not None:
            policy.model_activated(self.model)
        if self.model.browse is not None:
            policy.logs_mined(self.model)
        policy.set_examples(self._examples, self.model)
        policy.set_wanted(config.wanted, self.model)
        policy.set_experience(config.experiences, self.model)
        return policy


Make = Callable[[str, CrawlConfig], SiteShard]
"""Makes a site, empty, as the crawl has it under a configuration."""
Configure = Callable[[SiteShard, CrawlConfig], None]
"""Lets a site take over a later configuration."""

_MOST_VALUES = 300_000
"""A bound: buckets whose values are kept from one event to the next, some 200 bytes each. Chosen."""


class KnownValues:
    """What buckets and sites are worth, kept until an event changes their site.

    A frontier of many sites asks about all of them after each fetch, which changed one. Of values that depend
    on other sites too nothing may be kept.

    `buckets`: values by the whole name of the bucket. `sites`: values by the name of the site. `names`: the
    buckets of each site whose values are known.
    """

    def __init__(self) -> None:
        self.buckets: dict[str, float] = {}
        self.sites: dict[str, float] = {}
        self.names: dict[str, list[str]] = {}

    def keep(self, site: str, values: Mapping[str, float]) -> None:
        """Keep the values of buckets of a site that were not known."""
        self.names.setdefault(site, []).extend(values)
        self.buckets.update(values)

    def forget(self, site: str) -> None:
        """Forget what is known of a site, or of all sites if that is much."""
        if len(self.buckets) > _MOST_VALUES:
            self.clear()
        self.sites.pop(site, None)
        for name in self.names.pop(site, ()):
            self.buckets.pop(name, None)

    def clear(self) -> None:
        """Forget everything."""
        self.buckets.clear()
        self.sites.clear()
        self.names.clear()


class SiteTable(Mapping[str, SiteShard]):
    """Sites by name, in the order in which they came: a dictionary that makes what an event is about.

    A table of another kind, which keeps sites elsewhere, gives the same answers; see `CrawlModel`.

    `known_values`: what was answered about sites that did not change since.
    """

    def __init__(self, make: Make, configure: Configure, config: CrawlConfig) -> None:
        self._make, self._configure, self._config = make, configure, config
        self.known_values = KnownValues()
        self._sites: dict[str, SiteShard] = {}
        self._hosts: dict[int, str] = {}

    def __getitem__(self, name: str) -> SiteShard:
        """Return a site, to read it.

        Raises `KeyError` if there is none of this name.
        """
        return self._sites[name]

    def __iter__(self) -> Iterator[str]:
        """Yield names, in the order in which sites came."""
        return iter(list(self._sites))

    def __len__(self) -> int:
        """Return the number of sites."""
        return len(self._sites)

    def host(self, hash_: int) -> str:
        """Return the site of a hash of its name; empty if there is none."""
        return self._hosts.get(hash_, "")

    def kept_value(self, name: str) -> float | None:
        """Return what a fetch from a site is worth where that is known without the site, else None."""
        return None

    def writable(self, name: str) -> SiteShard:
        """Return a site for an event that changes it, made if it is new."""
        self.known_values.forget(name)
        if name not in self._sites:
            self.hold(name, self._make(name, self._config))
        return self._sites[name]

    def hold(self, name: str, shard: SiteShard) -> None:
        """Have a site that was made elsewhere."""
        self._sites[name] = shard
        self._hosts[hash_of(name)] = name

    def event_applied(self) -> None:
        """Take note that the event is applied which asked for what is `writable`."""

    def reconfigure(self, config: CrawlConfig) -> None:
        """Let all sites take over a configuration."""
        self.known_values.clear()
        self._config = config
        for shard in self._sites.values():
            self._configure(shard, config)

    def to_state(self) -> list[Any]:
        """Return all sites as plain values, in the order in which they came."""
        return [[name, self[name].to_state()] for name in self]

    def load_state(self, sites: Sequence[Any]) -> None:
        """Take over the sites of `to_state`."""
        for name, state in sites:
            self.writable(name).load_state(state)
            self.event_applied()
