"""`Crawl.copies`: links that lead to copies of other pages, as fetched pages taught, are to skip."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.engine.results import CopyHypothesis
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.hashing import hash_of
from linkscore_scoring.limits.void_keys import Evidence, VoidKeys, expression_of, with_key, without
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

    Examples
    --------
    >>> _likeness({1: 100, 2: 50, 3: 50}, {1: 100, 2: 50, 4: 50})
    0.6
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


_MAX_SHAPES, _MAX_PENDING = 2_000, 5_000
"""Hypotheses, and pages whose original is not fetched yet, that are remembered: bounds."""


@dataclass(slots=True)
class CopiedShape:
    """What speaks for the pages of a URL pattern being copies, and of which patterns their originals were."""

    evidence: Evidence = field(default_factory=Evidence)
    originals: Counter[int] = field(default_factory=Counter)


class CopiedShapes(Stateful):
    """URL patterns, with what speaks for their pages being copies of pages of other patterns.

    Each content of a pattern is a try. It agrees if a page of another pattern had shown the content before,
    or is named as its original and shows it when it is fetched; and if that page was found without pages of
    this pattern. A page that names itself as the original does not agree.
    """

    _shapes: Stored[dict[int, CopiedShape]]
    _pending: Stored[dict[int, list[tuple[int, int]]]]

    def __init__(self) -> None:
        self._shapes = {}
        self._pending = {}

    def hypotheses(self) -> Iterator[tuple[int, CopiedShape, float]]:
        """Yield each pattern, what is known of it, and how probable its links lead to copies."""
        for pattern, shape in self._shapes.items():
            yield pattern, shape, self.probability(pattern)

    def probability(self, pattern: int) -> float:
        """Return how probable a link of a pattern leads to a copy: a lower bound, 0 if nothing is known.

        Of two patterns that copy each other one has the originals: the one that is less sure to be copies.
        """
        shape = self._shapes.get(pattern)
        if shape is None or not shape.originals:
            return 0.0
        original = max(shape.originals, key=lambda other: (shape.originals[other], -other))
        own, back = shape.evidence.probability, self._shapes.get(original)
        if back is not None and back.originals[pattern] and back.evidence.probability >= own:
            return 0.0
        return own

    def evidence(self, pattern: int) -> Evidence | None:
        """Return what speaks for a pattern."""
        shape = self._shapes.get(pattern)
        return shape.evidence if shape is not None else None

    def observe(
        self,
        pattern: int,
        page: int,
        number: int,
        content: Content,
        *,
        names: int | None,
        is_found_without: Callable[[int, int], bool],
    ) -> None:
        """Learn from a page that shows a content.

        `pattern`, `page`: of its URL: pattern, and identity hash. `number`, `content`: the content, and its
        number. `names`: identity hash of the original that it names, its own if it names itself, None if
        none. `is_found_without`: says of a page by identity hash whether it was found without links on pages
        of a pattern.
        """
        named = self._pending.pop(page, [])
        for other, shown in named:
            if other != pattern:
                is_copy = shown == number and is_found_without(page, other)
                self._try(other, shown, pattern if is_copy else None)
        if pattern not in content.pages:
            originals = {
                other: first
                for other, first in content.pages.items()
                if other != pattern and is_found_without(first, pattern)
            }
            if names == page or named:
                self._try(pattern, number, None)
            elif originals:
                self._try(pattern, number, next(iter(originals)))
            elif names is None:
                self._try(pattern, number, None)
            else:
                self._pending.setdefault(names, []).append((pattern, number))
                drop_oldest(self._pending, _MAX_PENDING)
        content.pages.setdefault(pattern, page)

    def redirected(self, pattern: int, final: int, to: int, *, found: bool) -> None:
        """Learn from a URL of a pattern that redirected to a page of another: `found` without it or not."""
        if pattern != to:
            self._try(pattern, final, to if found else None)

    def settle(self, resolve: Callable[[int], int]) -> None:
        """Let hypotheses about URL patterns that have become one become one too."""
        for pattern in [known for known in self._shapes if resolve(known) != known]:
            moved = self._shapes.pop(pattern)
            kept = self._shapes.setdefault(resolve(pattern), CopiedShape())
            kept.evidence.absorb(moved.evidence)
            kept.originals.update(moved.originals)
        for shape in self._shapes.values():
            if any(resolve(other) != other for other in shape.originals):
                moved_to: Counter[int] = Counter()
                for other, n in shape.originals.items():
                    moved_to[resolve(other)] += n
                shape.originals = moved_to

    def fetched(self, link: int) -> None:
        """Take note that a link was fetched."""
        for shape in self._shapes.values():
            shape.evidence.fetched(link)

    def _try(self, pattern: int, content: int, original: int | None) -> None:
        """Count a try: the pattern of the original, None if the page is no copy."""
        if pattern not in self._shapes and len(self._shapes) >= _MAX_SHAPES:
            return
        shape = self._shapes.setdefault(pattern, CopiedShape())
        agrees = original is not None
        if shape.evidence.speak(content if agrees else -content, agrees=agrees) and original is not None:
            shape.originals[original] += 1


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
    keys: Stored[VoidKeys]
    shapes: Stored[CopiedShapes]

    def __init__(self) -> None:
        self.skip_above: float | None = None
        self.contents, self.keys, self.shapes = Contents(), VoidKeys(), CopiedShapes()
        self._shapes: dict[int, tuple[_Link | None, int | None]] = {}
        self._keyed: dict[int, _Link | None] = {}

    def observe(self, event: PageFetched, page: PageObservation, site: SiteModel) -> None:
        """Take in a fetch, that the site has taken in already; cost O(blocks + links)."""
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
        if self.skip_above is None or True not in page.fresh:
            return
        for row, link in self._copies(page.links, site):
            if not page.fresh[row]:
                continue
            key = page.links.keys[row]
            if link.is_first:
                self.keys.enter(link.base, key)
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
        void = self.keys.void(path, url, self.skip_above or _LIKELY)
        if not void:
            return None
        base = hash_of(without(url, set(void)))
        is_first = site.memory.depth(base) is None and self.keys.is_first(base, key)
        evidence = tuple(filter(None, (self.keys.evidence(path, name) for name in void)))
        return _Link(min(void.values()), evidence, base, is_first)

    def hypotheses(self, site: SiteModel) -> list[CopyHypothesis]:
        """Return which links are taken to lead to copies, the surest first."""
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
        """Return URL rules, the surest first: ``copy``, to skip, and ``void_key``, to take out of URLs.

        What an expression would say of more URLs than the hypothesis is left out.
        """
        least, tokens, is_alone = self.skip_above, site.patterns.tokens, site.patterns.is_alone
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
