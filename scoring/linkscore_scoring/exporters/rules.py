"""What a policy and the model of a site can say about URLs without the service."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import LinkBatch, UrlRule, cluster_name

MAX_URL_RULES = 5_000
"""A bound: rules of one site that are handed out, since crawlers try them one by one."""
MAX_TAG_PATHS = 1_000
"""A bound: tag paths of one site that are handed out."""
_SEEDS = 16
"""A bound: seeds a policy is asked for."""


@dataclass(frozen=True, slots=True)
class TagPathRule:
    """Links by their place on a page, and where they lead."""

    # Raw link path of the links: elements from the root, class tokens of the anchor in brackets.
    tag_path: str
    source: str  # name of the template cluster they stand on, and of the one most of them lead to
    destination: str
    destination_prob: float  # share of the followed ones that led there, (0, 1]
    value: float  # score of such a link under the policy, nothing known of its URL, [0, 1]
    link_count: int  # links seen


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRules:
    """All that can be said about the URLs of a site without the service."""

    crawl: str  # where the rules come from
    host: str  # host with port as in URLs; the registrable domain if `subdomains`
    policy: str
    seeds: tuple[str, ...]  # URLs to start from, at least one
    rules: tuple[UrlRule, ...] = ()  # URLs to follow, most telling first
    # URLs not to follow, whatever `rules` say, and query keys that change nothing, the surest first.
    denied: tuple[UrlRule, ...] = ()
    # Links to follow by their place, best first: for policies that have no `rules`.
    tag_paths: tuple[TagPathRule, ...] = ()
    state: str = ""  # what the policy goes by, one sentence; may be empty
    revision: int = 0  # revision of the site's model, and number of the last event it reflects
    event_seq: int = 0
    subdomains: bool = False  # the rules are for every host of the domain


def site_rules(
    crawl: CrawlModel, name: str, choice: PolicyChoice | None = None, *, min_confidence: float = 0.0
) -> SiteRules:
    """Return what can be said about the URLs of a site; changes nothing."""
    shard = crawl.shard(name)
    site, policy = shard.model, shard.policy(choice)
    seeds = policy.suggest_seeds(_SEEDS, site)
    best = max((seed.value for seed in seeds), default=0.0)
    rules = [rule for rule in policy.rules(site) if rule.confidence >= min_confidence]
    skipped = shard.limits.copies.rules(site) if shard.limits.copies is not None else []
    denied = [rule for rule in skipped if rule.confidence >= min_confidence]
    cut = f"the first {MAX_URL_RULES:,} of {len(rules):,} URL rules" if len(rules) > MAX_URL_RULES else ""
    return SiteRules(
        crawl=crawl.config.name,
        host=site.name,
        policy=policy.name,
        # worth at least half of the best: a file of rules cannot say "maybe"
        seeds=tuple(seed.url for seed in seeds if seed.value >= best / 2) or (_home(site),),
        rules=tuple(rules[:MAX_URL_RULES]),
        denied=tuple(denied[:MAX_URL_RULES]),
        tag_paths=tuple(_tag_paths(site, policy)),
        state="; ".join(filter(None, (policy.describe(site), cut))),
        revision=site.revision,
        event_seq=crawl.seq,
        subdomains=crawl.config.scope == "domain",
    )


def _home(site: SiteModel) -> str:
    """Return the root of the site, by the scheme its sampled pages have."""
    schemes = [page.key.partition("://")[0] for page in site.sample]
    return f"{max(set(schemes), key=schemes.count, default='http')}://{site.name}/"


def _tag_paths(site: SiteModel, policy: Policy) -> Iterator[TagPathRule]:
    """Yield the tag paths that the policy values at least as much as the links of the site on average."""
    rows = [
        row
        for row in site.navigation.entries()
        if row.followed > 0.0 and site.link_paths.get(row.link_path).raw
    ]
    if not rows:
        return
    n, zeros = len(rows), [0] * len(rows)  # one link of each row, of whose URL nothing is known
    paths, sources = [row.link_path for row in rows], [row.source for row in rows]
    links = LinkBatch([_home(site)] * n, zeros, paths, sources, [1] * n, zeros, [""] * n)
    values = policy.score(links, site).scores
    seen = np.array([max(1, row.links) for row in rows], dtype=np.float64)
    least = float(values @ seen / seen.sum())
    for at in sorted(range(n), key=lambda at: (-values[at], at))[:MAX_TAG_PATHS]:
        if values[at] >= least - 1e-12:
            row = rows[at]
            destination, share = max(row.destinations.items(), key=lambda pair: pair[1])
            yield TagPathRule(
                tag_path=site.link_paths.get(row.link_path).raw,
                source=cluster_name(row.source),
                destination=cluster_name(destination),
                destination_prob=share,
                value=float(values[at]),
                link_count=row.links,
            )
