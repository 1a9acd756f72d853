"""`Crawl.copies`: links that lead to copies of other pages, as fetched pages taught, are to skip."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from linkscore_scoring.columns import drop_oldest
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.engine.results import CopyHypothesis
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.hashing import hash_of
from linkscore_scoring.limits.hypotheses import (
    Evidence,
    Hypotheses,
    expression_of,
    keys_of,
    with_key,
    without,
)
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.site.texts import TextOwners
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import LinkBatch, PageObservation, UrlRule
from linkscore_scoring.urls.identity import identity

_MAX_CONTENTS, _MAX_PAGES = 20_000, 20_000
"""Contents and pages remembered, bounds of memory: some 700 bytes each."""
_SKETCH = 32
"""Blocks of a content that are kept, those of the lowest hash: a sample that is the same for equal contents
(bottom-k, Cohen and Kaplan 2007). The standard error of a likeness of .8 is .07. Chosen."""
_LOOKED_UP = 4
"""Blocks, of these, by which a content is found. Two contents alike by .8 share one with .998. Chosen."""
_LEAST_CHARS = 100
"""Characters of own text from which a page has a content: dates and notices alone are none. Chosen."""
_COMMON, _COMMON_SHARE = 12, 0.05
"""A block is common that more pages showed, and a larger share of them: it says nothing of a page. Chosen."""
_ALIKE = 0.8
"""Share of the characters of two contents that both show, from which they are the same. Chosen."""


@dataclass(slots=True)
class Content:
    """A content: its sketch, characters by block, and of each URL pattern the first page that showed it."""

    blocks: dict[int, int]
    pages: dict[int, int] = field(default_factory=dict)


class Contents(Stateful):
    """The contents of a site by number, and which page shows which."""

    _contents: Stored[dict[int, Content]]
    _pages: Stored[dict[int, int]]
    _next: Stored[int]

    def __init__(self) -> None:
        self._contents, self._pages, self._next = {}, {}, 1
        self._by_block: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._contents)

    def __getitem__(self, content: int) -> Content:
        return self._contents[content]

    def of_page(self, page: int) -> int | None:
        """Return the content of a fetched page, None if it has none or is not known."""
        return self._pages.get(page)

    def take(
        self,
        page: int,
        blocks: Mapping[int, int],
        texts: TextOwners,
        pages: int,
        near: Collection[int] = (),
    ) -> int | None:
        """Return the content of a page, a new one if no other page has it; None of little text of its own.

        `page`: identity hash of the page. `blocks`: characters of each of its long blocks, by hash. `texts`:
        how many pages showed each block. `pages`: pages of the site. `near`: contents to compare with
        whatever blocks they are found by: those of pages whose URL differs in one key. Blocks by which a
        content was found become common as the site is fetched.
        """
        most = max(_COMMON, _COMMON_SHARE * pages)
        own = {block: size for block, size in blocks.items() if texts.shown(block) <= most}
        if sum(own.values()) < _LEAST_CHARS:
            return None
        sketch = {block: own[block] for block in sorted(own)[:_SKETCH]}
        content = self._alike(sketch, texts, most, near)
        if content is None:
            content, self._next = self._next, self._next + 1
            self._contents[content] = Content(sketch)
            self._enter(content, sketch)
            for gone, old in drop_oldest(self._contents, _MAX_CONTENTS):
                self._leave(gone, old)
        self._pages[page] = content
        drop_oldest(self._pages, _MAX_PAGES)
        return content

    def after_load(self) -> None:
        """Find contents by their blocks again."""
        for number, content in self._contents.items():
            self._enter(number, content.blocks)

    def _alike(
        self, sketch: Mapping[int, int], texts: TextOwners, most: float, near: Collection[int]
    ) -> int | None:
        """Return the content most alike, one of `near` before others; None if none is alike enough."""
        by_block = {self._by_block.get(block) for block in list(sketch)[:_LOOKED_UP]}
        for found in (near, by_block):
            best, alike = None, _ALIKE
            for number in sorted(number for number in found if number in self._contents):
                known = {b: n for b, n in self._contents[number].blocks.items() if texts.shown(b) <= most}
                if (likeness := _likeness(sketch, known)) >= alike:
                    best, alike = number, likeness
            if best is not None:
                return best
        return None

    def _enter(self, content: int, sketch: Mapping[int, int]) -> None:
        self._by_block.update(dict.fromkeys(list(sketch)[:_LOOKED_UP], content))

    def _leave(self, gone: int, old: Content) -> None:
        for block in list(old.blocks)[:_LOOKED_UP]:
            if self._by_block.get(block) == gone:
                del self._by_block[block]


def _likeness(one: Mapping[int, int], two: Mapping[int, int]) -> float:
    """Return the share of characters in blocks that two sketches show alike, of those that either shows.

    A block of which one shows another length counts for neither. Of sketches that are full, hashes above
    the lower end of both are not compared: there one of them was cut.
    """
    ends = [max(sketch) for sketch in (one, two) if len(sketch) >= _SKETCH]
    end = min(ends) if ends else None
    shared = either = 0
    for block in one.keys() | two.keys():
        if end is None or block <= end:
            a, b = one.get(block, 0), two.get(block, 0)
            either += max(a, b)
            shared += a if a == b else 0
    return shared / either if either else 0.0


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


def copies_problems(given: Mapping[str, Any]) -> Iterator[FieldProblem]:
    """Yield what is wrong with the setting: from which probability on a link to a copy is to skip."""
    most = given.get("skip_above")
    if most is not None and not (math.isfinite(most) and 0.0 < most < 1.0):
        yield FieldProblem("copies.skip_above", f"must be in (0, 1), got {most}")


class SiteCopies(Stateful):
    """What the fetched pages of a site say of copies; without `skip_above` nothing is skipped."""

    contents: Stored[Contents]
    hypotheses: Stored[Hypotheses]

    def __init__(self) -> None:
        self.skip_above: float | None = None
        self.contents, self.hypotheses = Contents(), Hypotheses()
        self._keyed: dict[int, _Link | None] = {}

    def observe(self, event: PageFetched, page: PageObservation, site: SiteModel) -> None:
        """Take in a fetch, that the site has taken in already; cost O(blocks + links)."""
        self._keyed.clear()
        features = event.features
        self.hypotheses.fetched(page.requested, failed=features is None)
        if features is None:
            return
        if site.pages % _SETTLE_EVERY == 0:
            self.hypotheses.settle(site.patterns.resolve)
        redirected = page.requested != page.key
        if redirected or not page.refetch:
            self._learn(features, page, site, redirected=redirected)
        self._withhold(page, site)

    def _learn(
        self, features: PageFeatures, page: PageObservation, site: SiteModel, *, redirected: bool
    ) -> None:
        """Take in the content of a page fetched for the first time, or where a URL redirected to."""
        pattern, content_of = site.patterns.resolve(page.pattern), self.contents.of_page
        content = content_of(page.key)
        if content is None:
            blocks = dict(zip(features.block_hashes, features.block_chars, strict=True))
            near = self.hypotheses.near(page.requested_url, page.requested, content_of)
            content = self.contents.take(page.key, blocks, site.texts, site.pages, near)
        if redirected:
            to = site.patterns.resolve(site.pattern_of(page.key, identity(page.url)))
            found = page.refetch or _is_found_without(site, page.key, pattern)
            self.hypotheses.redirected(pattern, page.key, to, found=found)
        if content is None:
            return
        path, asked = _path_of(site, pattern), page.requested if redirected else page.key
        self.hypotheses.try_keys(path, page.requested_url, asked, content, content_of)
        if redirected or self._is_explained(page.requested_url, content):
            return
        names = page.canonical if features.canonical_key else None
        self.hypotheses.try_pattern(
            pattern,
            page.key,
            content,
            self.contents[content].pages,
            names=page.key if self.hypotheses.is_base(page.key) else names,
            is_found_without=lambda other, shape: _is_found_without(site, other, shape),
        )

    def _is_explained(self, url: str, content: int) -> bool:
        """Say whether a page without one query key of a URL shows its content."""
        bases = (hash_of(without(url, {key})) for key in keys_of(url))
        return any(self.contents.of_page(base) == content for base in bases)

    def _withhold(self, page: PageObservation, site: SiteModel) -> None:
        """Note which new links of a page are the first of their kind, and which are withheld."""
        if self.skip_above is None or True not in page.fresh:
            return
        for row, link in self._copies(page.links, site):
            if not page.fresh[row]:
                continue
            key = page.links.keys[row]
            if link.is_first:
                self.hypotheses.enter(link.base, key)
            elif link.probability >= self.skip_above:
                for evidence in link.evidence:
                    evidence.withhold(key)

    def judge(self, links: LinkBatch, site: SiteModel, reasons: list[int]) -> None:
        """Write why links are to skip where there is no reason yet."""
        least = self.skip_above
        if least is None:
            return
        for row, link in self._copies(links, site):
            is_due = any(evidence.let_through == links.keys[row] for evidence in link.evidence)
            if link.probability >= least and not (link.is_first or is_due or reasons[row]):
                reasons[row] = _COPY

    def duplicates(self, links: LinkBatch, site: SiteModel) -> list[float] | None:
        """Return how probable each link leads to a copy; None if nothing says so of any."""
        found = {row: link.probability for row, link in self._copies(links, site) if not link.is_first}
        return [found.get(row, 0.0) for row in range(len(links))] if found else None

    def memory_bytes(self) -> int:
        """Return what it takes in memory, estimated."""
        return _CONTENT_BYTES * len(self.contents)

    def _copies(self, links: LinkBatch, site: SiteModel) -> Iterator[tuple[int, _Link]]:
        """Yield the rows of which a hypothesis speaks, with what it says; cost O(links)."""
        groups = links.grouped()
        shapes = [self._shape(pattern, site) for pattern, _ in groups.distinct]
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

    def _shape(self, pattern: int, site: SiteModel) -> tuple[_Link | None, int | None]:
        """Return what is known of the links of a pattern, and its path if keys below that may be void."""
        resolved = site.patterns.resolve(pattern)
        path = _path_of(site, resolved) if self.hypotheses else None
        evidence = self.hypotheses.evidence(resolved)
        probability = self.hypotheses.probability(resolved)
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
        void = self.hypotheses.void(path, url, self.skip_above or _LIKELY)
        if not void:
            return None
        base = hash_of(without(url, set(void)))
        is_first = site.memory.depth(base) is None and self.hypotheses.is_first(base, key)
        evidence = tuple(filter(None, (self.hypotheses.evidence(path, name) for name in void)))
        return _Link(min(void.values()), evidence, base, is_first)

    def told(self, site: SiteModel) -> list[CopyHypothesis]:
        """Return which links are taken to lead to copies, the surest first."""
        found = [
            CopyHypothesis(
                site.patterns.text(pattern) + (f" {key}=" if key else ""),
                kept.tries,
                kept.agreed,
                probability,
            )
            for (pattern, key), kept, probability in self.hypotheses.told()
        ]
        return sorted(found, key=lambda each: (-each.probability, -each.tries, each.name))[:_TOLD]

    def rules(self, site: SiteModel) -> list[UrlRule]:
        """Return URL rules, the surest first: ``copy``, to skip, and ``void_key``, to take out of URLs.

        What an expression would say of more URLs than the hypothesis is left out.
        """
        found = []
        for (pattern, key), kept, p in self.hypotheses.told():
            is_below_host = bool(key) or len(site.patterns.lineage(pattern)) > _HOST_AND_ROOT
            if self.skip_above is None or p < self.skip_above or not is_below_host:
                continue
            tokens = site.patterns.tokens(pattern)
            written = with_key(tokens, key) if key else expression_of(tokens)
            if written and site.patterns.is_alone(pattern):
                found.append(UrlRule("void_key" if key else "copy", written, p, kept.agreed, kept.tries))
        return sorted(found, key=lambda rule: (-rule.confidence, -rule.total_count, rule.pattern))


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
