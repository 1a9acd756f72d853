"""TPM, the structure-driven crawler of Vidal 2006: one page type by example, reached by URL patterns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkscore_research.policies.tpm.rtdm import similarity, tree_of
from linkscore_research.policies.tpm.target_map import ENTRY, MapPage, NavigationPattern, TargetMap
from linkscore_scoring.columns import left_sum
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.policies.base import (
    FOLLOW,
    SKIP,
    Explanation,
    Params,
    Policy,
    Scored,
    Scores,
    Term,
    within,
)
from linkscore_scoring.policies.source import example_key, example_page, example_problems
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stored
from linkscore_scoring.types import LinkBatch, PageObservation

# Scores, over 1 + number or depth, of links on the map, of what only target pages link to, and off the path:
# any values in this order, the last one below those of links on the path (.5 to 1).
_MAPPED, _LATE, _OFF_PATH = 0.5, 1e-4, 0.1
# Depth of buckets that cannot be read: after all that can.
_STRANGE = 100_000
# Sample URLs kept of each URL pattern while mapping; a bound of memory.
_URLS_PER_PATTERN = 3
# Targets a path must end at: a pattern of one URL is that URL.
_FEWEST_TARGETS = 2
# Step of a page off the path; no step comes after it.
_NOWHERE = -2


@dataclass(frozen=True, slots=True, kw_only=True)
class TpmParams(Params):
    """Parameters of `tpm`."""

    # A page of the wanted type: the URL of one that is ingested (best as a seed), or its HTML. Exactly one is
    # required
    example_url: str = ""
    example_html: str = ""
    # Pages fetched breadth-first to map the site; they are charged like any fetch. [2, 2000]
    mapping_pages: int = within(100, 2, 2_000)
    # Least likeness to the example (RTDM) of a target page, (0, 1]
    similarity: float = within(0.71, 1e-6, 1.0)
    # K of URLsim: levels besides the host by which URLs of one group may differ, [0, 20]
    max_differing: int = within(2, 0, 20)
    # On every page accept links of any step of the path (the variant of Xu 2018); False accepts those of the
    # next step only, as Vidal 2006 does
    jump: bool = True

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for each field that is missing or out of range."""
        yield from example_problems(self.example_url, self.example_html)
        yield from super(TpmParams, self).problems()


class Tpm(Policy):
    """Map a part of the site, find what resembles the example, and follow links like those that led there.

    While mapping, pages come breadth-first without verdict: score 0.5 / (1 + number of the page the link was
    found on), bucket ``m<page>.<URL pattern>``; what only target pages link to comes last (``l<depth>.<URL
    pattern>``). At `mapping_pages` pages, or that many later as long as fewer than two targets are on one
    path, the URL patterns of the path are fixed. From then on links of step j of n are to FOLLOW with score
    0.5 + 0.5 j / n, bucket ``t<j>``; others are to SKIP, 0.1 / (1 + depth), bucket ``x<depth>``. Buckets from
    the mapping are valued by sample URLs of their pattern.

    Shapes: n links in, (n,) float64 out. Cost: a tree comparison a page while mapping, then O(characters x
    steps) a link. References: Vidal, da Silva, de Moura and Cavalcanti 2006, Structure-driven crawler
    generation by example, SIGIR; jumps by Xu, Gao and Callan 2018, section 5.4. Differences from the papers:
    the crawl goes on from what mapping found and does not start again; links nearer the target come first;
    mapping goes on while no path is found; pages a crawl starts from are walked whatever they resemble;
    repeated elements of a page are compared once (`rtdm.tree_of`); a link whose source page is not known may
    be of any step; patterns see the URL as linked, the map that after redirects.

    Examples
    --------
    Of a generated site, on which three pages in ten are wanted:

    >>> from linkscore_scoring.engine.config import PolicyChoice
    >>> from linkscore_scoring.testing.crawl import SimulatedCrawl, crawl_model
    >>> from linkscore_scoring.testing.crawl import GeneratedSite
    >>> site = GeneratedSite(1)
    >>> crawl = crawl_model(PolicyChoice("tpm", {"example_url": site.example, "mapping_pages": 40}))
    >>> round(SimulatedCrawl(crawl, site).fetch(120).wanted_share(), 2)
    0.8
    """

    name = "tpm"
    Params = TpmParams
    reads_templates = False
    baseline = True

    _example: Stored[PathTrie]
    _map: Stored[TargetMap]
    _navigation: Stored[NavigationPattern]
    _due: Stored[int]
    _steps: Stored[dict[int, int]]
    _urls: Stored[dict[int, list[str]]]
    _worths: Stored[dict[int, float]]

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self._map = TargetMap()
        self._navigation = NavigationPattern()
        self._due = int(params.mapping_pages)
        self._steps, self._urls, self._worths = {}, {}, {}
        self._example = example_page(params.example_html).paths if params.example_html else PathTrie()
        self._tree = tree_of(self._example)

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Put a page on the map; later, note how far along the path it is."""
        if page.failed or page.refetch:
            return
        if self._navigation:
            self._note_step(page.key, self._step(page.url, page.contexts), site)
            return
        paths = site.sample[-1].paths if site.sample and site.sample[-1].hash == page.key else PathTrie()
        if self.params.example_url and example_key(self.params.example_url) == page.key:
            self._meet_example(paths, site)
        self._put_on_map(page, paths, site)
        self._keep_urls(page.links, site)
        if len(self._map) >= self._due:
            self._fix_navigation(site)

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by place in the map, or by step of the path once it is known."""
        if not self._navigation:
            rows = zip(links.keys, links.patterns, links.depths, strict=True)
            names = [self._mapping_bucket(*row) for row in rows]
            return Scored(self.value(names, site), names)
        steps = [self._step_of_link(url, key, site) for url, key in zip(links.urls, links.keys, strict=True)]
        names = [f"t{step}" if step else f"x{depth}" for step, depth in zip(steps, links.depths, strict=True)]
        return Scored(self.value(names, site), names, [FOLLOW if step else SKIP for step in steps])

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return the score of the links of each bucket; of one from the mapping, that of its sample URLs."""
        valued = self._navigation_value if self._navigation else _mapping_value
        return np.array([valued(bucket) for bucket in buckets], dtype=np.float64)

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the step and its URL pattern, or the state of the map."""
        if not self._navigation:
            return [self._mapping_reason(depth) for depth in links.depths]
        rows = zip(links.urls, links.keys, strict=True)
        return [self._navigation_reason(self._step_of_link(url, key, site)) for url, key in rows]

    def _meet_example(self, paths: PathTrie, site: SiteModel) -> None:
        """Take the example's tag paths, and look for targets among the pages mapped before it."""
        self._example, self._tree = paths, tree_of(paths)
        for page in list(site.sample)[-self.params.mapping_pages :]:
            number = self._map.number(page.hash)
            if number is not None and self._map.pages[number].parent != ENTRY:
                self._map.pages[number].target = self._resembles(page.paths)

    def _resembles(self, paths: PathTrie) -> bool:
        known = bool(self._example.parents)
        return known and similarity(self._tree, tree_of(paths)) >= self.params.similarity

    def _put_on_map(self, page: PageObservation, paths: PathTrie, site: SiteModel) -> None:
        linked_by = (self._map.found_on(key) for key in (page.requested, page.key))
        parent = next((number for number in linked_by if number is not None), ENTRY)
        target = parent != ENTRY and self._resembles(paths)
        mapped = MapPage(page.key, page.url, parent, target)
        self._map.add(mapped, page.links.keys, max_links=site.bounds.links)

    def _keep_urls(self, links: LinkBatch, site: SiteModel) -> None:
        """Keep sample URLs of every URL pattern, to value the buckets of the mapping later."""
        for url, pattern in zip(links.urls, links.patterns, strict=True):
            kept = self._urls.get(pattern)
            if kept is None and len(self._urls) < site.bounds.arms:
                self._urls[pattern] = [url]
            elif kept is not None and len(kept) < _URLS_PER_PATTERN and url not in kept:
                kept.append(url)

    def _fix_navigation(self, site: SiteModel) -> None:
        navigation = self._map.navigation_pattern(max_differing=self.params.max_differing)
        if navigation.targets < _FEWEST_TARGETS:
            self._due = len(self._map) + self.params.mapping_pages
            return
        self._navigation = navigation
        steps: list[int] = []
        for page in self._map.pages:
            on_path = page.parent != ENTRY and navigation.step(page.url, after=[steps[page.parent]])
            steps.append(0 if page.parent == ENTRY else on_path or _NOWHERE)
            self._note_step(page.key, steps[-1], site)
        for pattern, urls in self._urls.items():
            self._worths[pattern] = left_sum(self._worth(navigation.step(url)) for url in urls) / len(urls)
        self._map, self._urls = TargetMap(), {}

    def _note_step(self, key: int, step: int, site: SiteModel) -> None:
        if not self.params.jump:
            self._steps[key] = step
            if len(self._steps) > site.bounds.links:
                del self._steps[next(iter(self._steps))]

    def _step_of_link(self, url: str, key: int, site: SiteModel) -> int:
        return self._step(url, [] if self.params.jump else site.memory.contexts(key))

    def _step(self, url: str, contexts: Sequence[tuple[int, int]]) -> int:
        before = [self._steps[source] for source, _ in contexts if source in self._steps]
        return self._navigation.step(url, after=before or None)

    def _mapping_bucket(self, key: int, pattern: int, depth: int) -> str:
        page = self._map.found_on(key)
        return f"l{depth}.{pattern}" if page is None else f"m{page}.{pattern}"

    def _navigation_value(self, bucket: str) -> float:
        kind, number, pattern = _parts(bucket)
        if kind in "ml":
            return self._worths.get(pattern, 0.0)
        if kind == "t":
            return self._worth(min(number, len(self._navigation)))
        return _OFF_PATH / (1.0 + number)

    def _worth(self, step: int) -> float:
        return 0.5 + 0.5 * step / len(self._navigation) if step else 0.0

    def _mapping_reason(self, depth: int) -> Explanation:
        n, found = len(self._map), self._map.targets
        known = "" if self._example.parents else "; the example was not fetched yet"
        late = n >= self.params.mapping_pages
        why = f"mapping goes on breadth-first, no way to targets found so far{known}" if late else "mapping"
        summary = f"{n} pages mapped, {found} like the example: {why if late else why + known}"
        return Explanation(summary, [Term("depth", depth, "clicks from a seed")])

    def _navigation_reason(self, step: int) -> Explanation:
        n = len(self._navigation)
        terms = [Term("step", step, f"place on the way of {n} clicks to the targets, 0 if off it")]
        if not step:
            return Explanation("has no URL pattern of the way to the targets", terms)
        return Explanation(f"step {step} of {n} to the targets: {self._navigation.shapes[step - 1]}", terms)

    def after_load(self) -> None:
        """Make the tree of the example."""
        self._tree = tree_of(self._example)


def _parts(bucket: str) -> tuple[str, int, int]:
    """Return kind, number and URL pattern of a bucket name; strange ones are ``x`` with a late number."""
    number, _, pattern = bucket[1:].partition(".")
    good = bucket[:1] in set("mltx") and number.isdecimal() and len(number) <= 9
    known = pattern.isdecimal() and len(pattern) <= 9
    return (bucket[0], int(number), int(pattern) if known else -1) if good else ("x", _STRANGE, -1)


def _mapping_value(bucket: str) -> float:
    kind, number, _ = _parts(bucket)
    return (_MAPPED if kind == "m" else _LATE) / (1.0 + number)
