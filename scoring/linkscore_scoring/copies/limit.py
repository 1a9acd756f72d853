"""`Crawl.copies`: links that lead to copies of other pages, as fetched pages taught, are to skip."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from linkscore_scoring.copies.contents import Contents
from linkscore_scoring.copies.evidence import Evidence
from linkscore_scoring.copies.expressions import expression_of, with_key
from linkscore_scoring.copies.keys import VoidKeys, without
from linkscore_scoring.copies.shapes import CopiedShapes
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.engine.limits import CopyHypothesis, Limit, SiteLimit
from linkscore_scoring.engine.link_batches import hash_of
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stored
from linkscore_scoring.types import LinkBatch, PageObservation, UrlRule
from linkscore_scoring.urls.identity import identity

_COPY = 5  # of the wire contract: SKIP_REASON_COPY
_LIKELY = 0.5
"""Probability from which a key counts as void where nobody says what is to skip. Chosen."""
_TOLD = 100
"""Hypotheses that are told of a site, as the contract says."""
_SETTLE_EVERY = 16
"""Fetches after which hypotheses follow URL patterns that have become one. Chosen."""
_MOST_KEYED = 20_000
"""Links whose query keys are remembered from one question to the next: a bound."""
_HOST_AND_ROOT = 2
"""Nodes above the first shape below the host."""
_CONTENT_BYTES = 2_500
"""Memory of a content with what is found by it: a sketch of 32 blocks, 4 of them looked up. Estimated."""


class CopiesLimit(Limit):
    """From which probability on a link to a copy is to skip; nothing is skipped if it is not set."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.skip_above: float | None = (value or {}).get("skip_above")

    def problems(self, *, groups: int) -> Iterator[FieldProblem]:
        """See `Limit.problems`."""
        most = self.skip_above
        if most is not None and not (math.isfinite(most) and 0.0 < most < 1.0):
            yield FieldProblem("copies.skip_above", f"must be in (0, 1), got {most}")

    def of_site(self) -> SiteLimit:
        """See `Limit.of_site`."""
        return SiteCopies()


class SiteCopies(SiteLimit):
    """What the fetched pages of a site say of copies."""

    limit: CopiesLimit
    contents: Stored[Contents]
    keys: Stored[VoidKeys]
    shapes: Stored[CopiedShapes]

    def __init__(self) -> None:
        self.contents, self.keys, self.shapes = Contents(), VoidKeys(), CopiedShapes()
        self._shapes: dict[int, tuple[_Link | None, int | None]] = {}
        self._keyed: dict[int, _Link | None] = {}

    def observe(self, event: PageFetched, page: PageObservation, site: SiteModel, policy: Policy) -> None:
        """See `SiteLimit.observe`; cost O(blocks + links)."""
        self._shapes.clear()
        self._keyed.clear()
        self.shapes.fetched(page.requested)
        self.keys.fetched(page.requested)
        features = event.features
        if features is None:
            self.keys.forget(page.requested)
            return
        if site.pages % _SETTLE_EVERY == 0:
            self.keys.settle(site.patterns.resolve)
            self.shapes.settle(site.patterns.resolve)
        redirected = page.requested != page.key
        if redirected or not page.refetch:
            self._learn(features, page, site, redirected=redirected)
        self._withhold(page, site)

    def _learn(
        self, features: PageFeatures, page: PageObservation, site: SiteModel, *, redirected: bool
    ) -> None:
        """Take in the content of a page fetched for the first time, or where a URL redirected to."""
        pattern = site.patterns.resolve(page.pattern)
        content = self.contents.of_page(page.key)
        if content is None:
            blocks = dict(zip(features.block_hashes, features.block_chars, strict=True))
            near = self.keys.near(page.requested_url, page.requested, self.contents.of_page)
            content = self.contents.take(page.key, blocks, site.texts, site.pages, near)
        if redirected:
            self._redirected(pattern, page, site, content)
        elif content is not None:
            self.keys.observe(
                _path_of(site, pattern), page.requested_url, page.key, content, self.contents.of_page
            )
            if self.keys.has_base(page.requested_url, content, self.contents.of_page):
                return  # a key explains it
            is_original = self.keys.is_base(page.key)
            names = page.canonical if features.canonical_key else None
            self.shapes.observe(
                pattern,
                page.key,
                content,
                self.contents[content],
                names=page.key if is_original else names,
                is_found_without=lambda other, shape: _is_found_without(site, other, shape),
            )

    def _redirected(self, pattern: int, page: PageObservation, site: SiteModel, content: int | None) -> None:
        """Take in that a URL led to another page."""
        to = site.patterns.resolve(site.pattern_of(page.key, identity(page.url)))
        found = page.refetch or _is_found_without(site, page.key, pattern)
        self.shapes.redirected(pattern, page.key, to, found=found)
        if content is not None:
            path = _path_of(site, pattern)
            self.keys.observe(path, page.requested_url, page.requested, content, self.contents.of_page)

    def _withhold(self, page: PageObservation, site: SiteModel) -> None:
        """Note which new links of a page are the first of their kind, and which are withheld."""
        if self.limit.skip_above is None or True not in page.fresh:
            return
        for row, link in self._copies(page.links, site):
            if not page.fresh[row]:
                continue
            key = page.links.keys[row]
            if link.is_first:
                self.keys.enter(link.base, key)
            elif link.probability >= self.limit.skip_above:
                for evidence in link.evidence:
                    evidence.withhold(key)

    def judge(self, links: LinkBatch, site: SiteModel, reasons: list[int]) -> None:
        """See `SiteLimit.judge`."""
        least = self.limit.skip_above
        if least is None:
            return
        for row, link in self._copies(links, site):
            is_due = any(evidence.let_through == links.keys[row] for evidence in link.evidence)
            if link.probability >= least and not (link.is_first or is_due or reasons[row]):
                reasons[row] = _COPY

    def duplicates(self, links: LinkBatch, site: SiteModel) -> list[float] | None:
        """See `SiteLimit.duplicates`."""
        found = {row: link.probability for row, link in self._copies(links, site) if not link.is_first}
        return [found.get(row, 0.0) for row in range(len(links))] if found else None

    def memory_bytes(self) -> int:
        """See `SiteLimit.memory_bytes`."""
        return _CONTENT_BYTES * len(self.contents)

    def _copies(self, links: LinkBatch, site: SiteModel) -> Iterator[tuple[int, _Link]]:
        """Yield the rows of which a hypothesis speaks, with what it says; cost O(links)."""
        groups = links.grouped()
        shapes = [self._known(pattern, site) for pattern, _ in groups.distinct]
        if not any(shape is not None or path is not None for shape, path in shapes):
            return
        for row, place in enumerate(groups.places.tolist()):
            link, path = shapes[place]
            if path is not None and "?" in links.urls[row]:
                by_keys = self._by_keys(path, links.urls[row], links.keys[row], site)
                if by_keys is not None and (link is None or by_keys.probability >= link.probability):
                    link = by_keys
            if link is not None:
                yield row, link

    def _known(self, pattern: int, site: SiteModel) -> tuple[_Link | None, int | None]:
        """Return `_shape`, remembered until the next fetch: the same patterns are asked about often."""
        known = self._shapes.get(pattern)
        if known is None:
            known = self._shapes[pattern] = self._shape(pattern, site)
        return known

    def _shape(self, pattern: int, site: SiteModel) -> tuple[_Link | None, int | None]:
        """Return what is known of the links of a pattern, and its path if keys below that may be void."""
        resolved = site.patterns.resolve(pattern)
        path = _path_of(site, resolved) if self.keys else None
        evidence = self.shapes.evidence(resolved)
        probability = self.shapes.probability(resolved)
        if evidence is None or not probability or len(site.patterns.lineage(resolved)) <= _HOST_AND_ROOT:
            return None, path
        return _Link(probability, (evidence,)), path

    def _by_keys(self, path: int, url: str, key: int, site: SiteModel) -> _Link | None:
        """Return what void keys say of a link; remembered until the next fetch.

        A page asks up to three times of each of its links.
        """
        if key not in self._keyed:
            if len(self._keyed) >= _MOST_KEYED:
                self._keyed.clear()
            self._keyed[key] = self._voided(path, _identity(url), key, site)
        return self._keyed[key]

    def _voided(self, path: int, url: str, key: int, site: SiteModel) -> _Link | None:
        """Return what void keys say of a link by its identity; None if it has none."""
        void = self.keys.void(path, url, self.limit.skip_above or _LIKELY)
        if not void:
            return None
        base = hash_of(without(url, set(void)))
        is_first = site.memory.depth(base) is None and self.keys.is_first(base, key)
        evidence = tuple(filter(None, (self.keys.evidence(path, name) for name in void)))
        return _Link(min(void.values()), evidence, base, is_first)

    def hypotheses(self, site: SiteModel) -> list[CopyHypothesis]:
        """See `SiteLimit.hypotheses`."""
        patterns = site.patterns
        found = [
            CopyHypothesis(f"{patterns.text(path)} {key}=", kept.tries, kept.agreed, probability)
            for (path, key), kept, probability in self.keys.hypotheses()
        ]
        for pattern, shape, probability in self.shapes.hypotheses():
            kept = shape.evidence
            found.append(CopyHypothesis(patterns.text(pattern), kept.tries, kept.agreed, probability))
        return sorted(found, key=lambda each: (-each.probability, -each.tries, each.name))[:_TOLD]

    def rules(self, site: SiteModel) -> list[UrlRule]:
        """See `SiteLimit.rules`: of kind ``copy``, to skip, and ``void_key``, to take out of URLs.

        What an expression would say of more URLs than the hypothesis is left out.
        """
        least, tokens, is_alone = self.limit.skip_above, site.patterns.tokens, site.patterns.is_alone
        if least is None:
            return []
        shapes = [
            UrlRule("copy", expression_of(tokens(pattern)), p, shape.evidence.agreed, shape.evidence.tries)
            for pattern, shape, p in self.shapes.hypotheses()
            if p >= least and len(site.patterns.lineage(pattern)) > _HOST_AND_ROOT and is_alone(pattern)
        ]
        keys = [
            UrlRule("void_key", with_key(tokens(path), key), p, kept.agreed, kept.tries)
            for (path, key), kept, p in self.keys.hypotheses()
            if p >= least and is_alone(path)
        ]
        found = [rule for rule in (*shapes, *keys) if rule.pattern]
        return sorted(found, key=lambda rule: (-rule.confidence, -rule.total, rule.pattern))


class _Link(NamedTuple):
    """What is said of a link: how probable it leads to a copy, by what; and whether it is the first of them.

    `base` is the hash of its URL without void keys, 0 if it has none.
    """

    probability: float
    evidence: tuple[Evidence, ...]
    base: int = 0
    is_first: bool = False


def _identity(url: str) -> str:
    """Return the identity of the URL of a link; the URL if it has none."""
    try:
        return identity(url)
    except ValueError:
        return url


def _path_of(site: SiteModel, pattern: int) -> int:
    """Return the URL pattern of the path of a pattern's URLs, whatever their query."""
    tokens = site.patterns.tokens(pattern)
    at = next((n for n, token in enumerate(tokens) if token.startswith("?")), len(tokens))
    return site.patterns.lineage(pattern)[len(tokens) - at]


def _is_found_without(site: SiteModel, page: int, pattern: int) -> bool:
    """Say whether a page is known from elsewhere than pages of a URL pattern: a seed, or linked by others."""
    sources = [source for source, _ in site.memory.contexts(page)]
    known = (site.memory.pattern(source) for source in sources)
    others = [each for each in known if each is None or site.patterns.resolve(each) != pattern]
    return bool(others) or (not sources and site.memory.depth(page) is not None)
