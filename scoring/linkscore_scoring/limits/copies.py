"""`Crawl.copies`: links that lead to copies of other pages, as fetched pages taught, are to skip.

Two kinds of hypothesis: a query key below a path changes nothing (sessions, orders), and the pages of a URL
pattern copy those of others (print views, permalinks).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from linkscore_scoring.columns import drop_oldest, lower_bound
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.hashing import hash_of
from linkscore_scoring.pagination.page_links import PAGE_KEYS
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.site.texts import TextOwners
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import LinkBatch, PageObservation, UrlRule
from linkscore_scoring.urls.identity import host_of, identity, known_identity
from linkscore_scoring.urls.pattern_tree import expression_of, split_query, with_key

_MAX_CONTENTS, _MAX_PAGES = 20_000, 20_000
"""Contents and pages remembered, bounds of memory."""
_CONTENT_BYTES = 4_000
"""Memory of a content: 32 blocks, and what finds it by each. Estimated."""
_MOST_BLOCKS = 32
"""Blocks of a page that are compared, those of the lowest hash up to where either page has as many: a sample
that is the same for equal pages (bottom-k, Cohen and Kaplan 2007). Chosen."""
_COMPARED = 4
"""Contents that a page is compared with, those of which it shows most blocks: a bound, chosen."""
_LEAST_CHARS = 100
"""Characters of own text from which a page has a content: dates and notices alone are none. Chosen."""
_COMMON, _COMMON_SHARE = 12, 0.05
"""A block is common that more pages showed, and a larger share of them: it says nothing of a page. Chosen."""
_ALIKE = 0.8
"""Share of the characters of two contents that both show, from which they are the same. Chosen."""


@dataclass(slots=True)
class Content:
    """A content: characters by block, and of each URL pattern the first page that showed it."""

    blocks: dict[int, int]
    pages: dict[int, int] = field(default_factory=dict)


class Contents(Stateful):
    """The contents of a site by number, and which page shows which."""

    _contents: Stored[dict[int, Content]]
    _pages: Stored[dict[int, int]]
    _next: Stored[int]

    def __init__(self) -> None:
        self._by_block: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._contents)

    def __getitem__(self, content: int) -> Content:
        return self._contents[content]

    def of_page(self, page: int) -> int | None:
        """Return the content of a fetched page, None if it has none or is not known."""
        return self._pages.get(page)

    def take(
        self, page: int, blocks: Mapping[int, int], texts: TextOwners, pages: int, near: set[int]
    ) -> int | None:
        """Return the content of a page, a new one if no other page has it; None of little text of its own.

        `near`: contents to compare with whatever is found by blocks: of each the latest that shows it.
        """
        most = max(_COMMON, _COMMON_SHARE * pages)
        own = {block: blocks[block] for block in sorted(blocks) if texts.shown(block) <= most}
        if sum(own.values()) < _LEAST_CHARS:
            return None
        own = dict(islice(own.items(), _MOST_BLOCKS))
        found = Counter(self._by_block[block] for block in own if block in self._by_block)
        for content in [*sorted(near & self._contents.keys()), *(n for n, _ in found.most_common(_COMPARED))]:
            known = self._contents[content].blocks
            end = min((max(each) for each in (own, known) if len(each) == _MOST_BLOCKS), default=math.inf)
            either = {b for b in (*own, *known) if b <= end and texts.shown(b) <= most}
            shared = sum(own[b] for b in either if own.get(b) == known.get(b))
            if shared >= _ALIKE * sum(max(own.get(b, 0), known.get(b, 0)) for b in either) > 0:
                break
        else:
            content = self._next = self._next + 1
            self._contents[content] = Content(own)
            self._by_block.update(dict.fromkeys(own, content))
            for gone, old in drop_oldest(self._contents, _MAX_CONTENTS):
                for block in [block for block in old.blocks if self._by_block.get(block) == gone]:
                    del self._by_block[block]
        self._pages[page] = content
        drop_oldest(self._pages, _MAX_PAGES)
        return content

    def after_load(self) -> None:
        """Find contents by their blocks again."""
        for number, content in self._contents.items():
            self._by_block.update(dict.fromkeys(content.blocks, number))


_SPOKEN = 64
"""Contents remembered that have spoken, a bound. Beyond it an old one may speak once more."""
_CHECK_GROWTH = 1.5
"""How many times as many links are withheld before one is let through again to look. Chosen: of 2,000 links
the first is, and 1 % of all."""


@dataclass(slots=True)
class Evidence:
    """Tries of a hypothesis: contents that could have refuted it, and those that did not.

    A content speaks once: pages that all show the same (errors, log-in pages, shells of scripts) are one try.
    `host`: of a query key. `spoken`: the contents, and whether they agreed, latest last. `withheld`: links
    withheld. `let_through`: identity hash of a link that is fetched to look again; 0 if none is to be.
    `originals`: URL patterns whose pages were the originals; none where a query key explains the copy.
    """

    host: str = ""
    tries: int = 0
    agreed: int = 0
    spoken: list[tuple[int, bool]] = field(default_factory=list)
    withheld: int = 0
    let_through: int = 0
    originals: Counter[int] = field(default_factory=Counter)

    @property
    def probability(self) -> float:
        """The lower bound of the share of copies."""
        return lower_bound(self.tries, self.agreed)

    def withhold(self, link: int) -> None:
        """Count a link that is withheld; now and then it is let through instead."""
        before, self.withheld = self.withheld, self.withheld + 1
        if not before or int(math.log(self.withheld, _CHECK_GROWTH)) > int(math.log(before, _CHECK_GROWTH)):
            self.let_through = link


_MAX_KEYS = 4
"""Keys of a URL that are tried, the first by name; a bound."""
_MAX_HYPOTHESES, _MAX_BASES, _MAX_PENDING = 2_000, 20_000, 5_000
"""Bounds: hypotheses, URLs without a key, and pages whose original is not fetched yet, that are kept."""
_LEAST_OWN = 3
"""Tries below a path from which what holds of the key elsewhere on its host holds there too. Chosen."""

Hypothesis = tuple[int, str]
"""URL pattern of a path, and name of a query key that changes nothing below it; or a pattern whose pages are
copies of pages of others, and no name."""
ContentOf = Callable[[int], int | None]
"""Returns the content of a page by identity hash, None if it has none."""


class Hypotheses(Stateful):
    """What leads to copies, with what speaks for it.

    Two pages whose URLs differ in the value of one key, or of which one is without it, are a try of that key
    below their path: they show the same content or they do not. Below a path without tries nothing is
    believed; a key that was never refuted on a host needs few below each path of it. Keys that usually name a
    page or an offset are none.

    Each content of a pattern is a try of that pattern. It agrees if a page of another pattern had shown the
    content before, or is named as its original and shows it when it is fetched; and if that page was found
    without pages of this pattern. A page that names itself as the original does not agree.
    """

    all: Stored[dict[Hypothesis, Evidence]]
    _bases: Stored[dict[int, dict[str, int]]]  # contents by hash of a URL without a key, and by that key
    _firsts: Stored[dict[int, int]]  # first link of those that differ in void keys alone, by the base of all
    _pending: Stored[dict[int, list[tuple[int, int]]]]  # pattern and content of pages that name an original

    def __init__(self) -> None:
        self._pooled: Counter[tuple[str, str, bool]] = Counter()

    def after_load(self) -> None:
        """Put together what is known of each key on each host, whatever path it stands below."""
        self._pooled.clear()
        for (_, key), kept in self.all.items():
            if key:
                self._pooled[kept.host, key, True] += kept.agreed
                self._pooled[kept.host, key, False] += kept.tries - kept.agreed

    def probability(self, pattern: int, key: str = "") -> float:
        """Return how probable a link by a hypothesis leads to a copy: a lower bound, 0 if nothing is known.

        Of two patterns that copy each other one has the originals: the one that is less sure to be copies.
        """
        own = self.all.get((pattern, key))
        if own is None:
            return 0.0
        if key:
            if not own.agreed == own.tries >= _LEAST_OWN:
                return own.probability
            agreed, refuted = (self._pooled[own.host, key, agrees] for agrees in (True, False))
            return max(own.probability, lower_bound(agreed + refuted, agreed))
        if not own.originals:
            return 0.0
        original = max(own.originals, key=lambda other: (own.originals[other], -other))
        back = self.all.get((original, ""))
        is_copied = back is not None and back.originals[pattern] and back.probability >= own.probability
        return 0.0 if is_copied else own.probability

    def try_keys(self, path: int, url: str, page: int, content: int, content_of: ContentOf) -> None:
        """Learn from a page by the identity it was asked for; `path`: URL pattern of its path."""
        host = host_of(url)
        for key, shown in self._bases.get(page, {}).items():
            self._try((path, key), content, agrees=content == shown, host=host)
        for key in keys_of(url):
            base = hash_of(without(url, {key}))
            known, plain = self._bases.setdefault(base, {}), content_of(base)
            other = known.get(key) if plain is None else plain
            known.setdefault(key, content)
            if other is not None:
                self._try((path, key), content, agrees=content == other, host=host)
        drop_oldest(self._bases, _MAX_BASES)

    def near(self, url: str, page: int, content_of: ContentOf) -> set[int]:
        """Return the contents of pages whose URL differs from that of a page in one key; see `try_keys`."""
        found = set(self._bases.get(page, {}).values())
        for key in keys_of(url):
            base = hash_of(without(url, {key}))
            found.update(filter(None, (self._bases.get(base, {}).get(key), content_of(base))))
        return found

    def is_base(self, page: int) -> bool:
        """Say whether a page was fetched whose URL without one key is that of a page, by identity hash."""
        return page in self._bases

    def is_first(self, base: int, link: int) -> bool:
        """Say whether a link is the first that was seen of those that differ in void keys alone."""
        return self._firsts.get(base, link) == link and not self._bases.get(base)

    def enter(self, base: int, link: int) -> None:
        """Remember a link as the first of those that differ in void keys alone, if there is none."""
        self._firsts.setdefault(base, link)
        drop_oldest(self._firsts, _MAX_BASES)

    def try_pattern(
        self,
        pattern: int,
        page: int,
        number: int,
        shown: dict[int, int],
        *,
        names: int,
        content_of: ContentOf,
        is_found_without: Callable[[int, int], bool],
    ) -> None:
        """Learn from a page that shows a content, the first of its pattern that does.

        `shown`: the first page that showed the content `number`, by pattern. `names`: identity hash of the
        original that the page names, its own if it names itself, 0 if it names none: one that was fetched and
        shows another content speaks against. `is_found_without`: says of a page whether it was found without
        links on pages of a pattern.
        """
        named = self._pending.pop(page, [])
        for other, content in named:
            if other != pattern:
                is_copy = content == number and is_found_without(page, other)
                self._try((other, ""), content, agrees=is_copy, original=pattern)
        if pattern in shown:
            return
        originals = [other for other, first in shown.items() if is_found_without(first, pattern)]
        is_told = names in (0, page) or content_of(names) not in (None, number)
        if is_told or named or originals:
            agrees = bool(originals) and names != page and not named
            self._try((pattern, ""), number, agrees=agrees, original=originals[0] if agrees else None)
        else:
            waiting = self._pending.get(names, [])
            self._pending[names] = [*waiting, (pattern, number)][-_SPOKEN:]
            drop_oldest(self._pending, _MAX_PENDING)
        shown[pattern] = page

    def redirected(self, pattern: int, final: int, to: int, *, found: bool) -> None:
        """Learn from a URL of a pattern that redirected to a page of another: `found` without it or not."""
        if pattern != to:
            self._try((pattern, ""), final, agrees=found, original=to)

    def fetched(self, link: int, *, failed: bool) -> None:
        """Take note that a link was fetched; one that failed is not the first of its kind."""
        for evidence in self.all.values():
            if evidence.let_through == link:
                evidence.let_through = 0
        if failed:
            self._firsts = {base: first for base, first in self._firsts.items() if first != link}

    def settle(self, resolve: Callable[[int], int]) -> None:
        """Of hypotheses about URL patterns that have become one, keep what was tried most."""
        for pattern, key in [known for known in self.all if resolve(known[0]) != known[0]]:
            moved, at = self.all.pop((pattern, key)), (resolve(pattern), key)
            self.all[at] = max(self.all.get(at, moved), moved, key=lambda each: each.tries)
        for evidence in self.all.values():
            for original in [known for known in evidence.originals if resolve(known) != known]:
                evidence.originals[resolve(original)] += evidence.originals.pop(original)
        self.after_load()

    def _try(
        self,
        hypothesis: Hypothesis,
        content: int,
        *,
        agrees: bool,
        original: int | None = None,
        host: str = "",
    ) -> None:
        """Count a try; a content that agrees speaks once, and once more where it does not."""
        if hypothesis not in self.all and len(self.all) >= _MAX_HYPOTHESES:
            return
        kept, said = self.all.setdefault(hypothesis, Evidence(host)), (content, agrees)
        if said in kept.spoken:
            return
        kept.spoken = [*kept.spoken, said][-_SPOKEN:]
        kept.tries += 1
        kept.agreed += agrees
        if key := hypothesis[1]:
            self._pooled[kept.host, key, agrees] += 1
        elif agrees and original is not None:
            kept.originals[original] += 1


def without(url: str, keys: set[str]) -> str:
    """Return a URL identity without some query keys, in lower case; still an identity."""
    address, _, query = url.partition("?")
    kept = "&".join(pair for pair in query.split("&") if pair.partition("=")[0].lower() not in keys)
    return f"{address}?{kept}" if kept else address


def keys_of(url: str) -> list[str]:
    """Return the first query keys of a URL that may be void, in lower case."""
    names = dict.fromkeys(pair.partition("=")[0].lower() for pair in url.partition("?")[2].split("&"))
    return [name for name in names if name and name not in PAGE_KEYS][:_MAX_KEYS]


_COPY = 5  # of the wire contract: SKIP_REASON_COPY
SKIP_ABOVE = 0.9
"""Probability from which a link is to skip where nobody says it. Chosen."""
_SETTLE_EVERY = 16
"""Fetches after which hypotheses follow URL patterns that have become one. Chosen."""
_HOST_AND_ROOT = 2
"""Nodes above the first shape below the host."""


def copies_problems(given: Mapping[str, Any]) -> Iterator[FieldProblem]:
    """Yield what is wrong with the setting: from which probability on a link to a copy is to skip."""
    if not 0.0 < (most := given.get("skip_above", SKIP_ABOVE)) < 1.0:
        yield FieldProblem("copies.skip_above", f"must be in (0, 1), got {most}")


class SiteCopies(Stateful):
    """What the fetched pages of a site say of copies."""

    contents: Stored[Contents]
    hypotheses: Stored[Hypotheses]

    def __init__(self) -> None:
        self.skip_above = SKIP_ABOVE
        self.contents, self.hypotheses = Contents(), Hypotheses()

    def observe(self, event: PageFetched, page: PageObservation, site: SiteModel) -> None:
        """Take in a fetch, that the site has taken in already; cost O(blocks + links)."""
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
        bases = (hash_of(without(page.requested_url, {key})) for key in keys_of(page.requested_url))
        if redirected or any(content_of(base) == content for base in bases):  # a key explains it
            return
        names = page.canonical if features.canonical_key else 0
        self.hypotheses.try_pattern(
            pattern,
            page.key,
            content,
            self.contents[content].pages,
            names=page.key if self.hypotheses.is_base(page.key) else names,
            content_of=content_of,
            is_found_without=lambda other, shape: _is_found_without(site, other, shape),
        )

    def _withhold(self, page: PageObservation, site: SiteModel) -> None:
        """Note which new links of a page are the first of their kind, and which are withheld."""
        if True not in page.fresh:
            return
        for row, link in self._copies(page.links, site):
            key = page.links.keys[row]
            if page.fresh[row] and link.is_first:
                self.hypotheses.enter(link.base, key)
            elif page.fresh[row] and link.probability >= self.skip_above:
                for evidence in link.evidence:
                    evidence.withhold(key)

    def judge(self, links: LinkBatch, site: SiteModel, reasons: list[int]) -> None:
        """Write why links are to skip where there is no reason yet."""
        for row, link in self._copies(links, site):
            is_due = any(evidence.let_through == links.keys[row] for evidence in link.evidence)
            if link.probability >= self.skip_above and not (link.is_first or is_due or reasons[row]):
                reasons[row] = _COPY

    def memory_bytes(self) -> int:
        """Return what it takes in memory, estimated."""
        return _CONTENT_BYTES * len(self.contents)

    def _copies(self, links: LinkBatch, site: SiteModel) -> Iterator[tuple[int, _Link]]:
        """Yield the rows of which a hypothesis speaks, with what it says; cost O(links)."""
        if not self.hypotheses.all:
            return
        groups = links.grouped(site.link_paths.folded)
        shapes = [self._shape(site.patterns.resolve(pattern), site) for pattern, _ in groups.distinct]
        for row, place in enumerate(groups.places.tolist()):
            link, path = shapes[place]
            if "?" in links.urls[row]:
                by_keys = self._by_keys(path, links.urls[row], links.keys[row], site)
                if by_keys is not None and (link is None or by_keys.probability >= link.probability):
                    link = by_keys
            if link is not None:
                yield row, link

    def _shape(self, pattern: int, site: SiteModel) -> tuple[_Link | None, int]:
        """Return what is known of the links of a pattern, and its path."""
        path, evidence = _path_of(site, pattern), self.hypotheses.all.get((pattern, ""))
        probability = self.hypotheses.probability(pattern)
        if evidence is None or not probability or len(site.patterns.lineage(pattern)) <= _HOST_AND_ROOT:
            return None, path
        return _Link(probability, (evidence,)), path

    def _by_keys(self, path: int, url: str, key: int, site: SiteModel) -> _Link | None:
        """Return what void keys say of a link; None if it has none."""
        known, least, url = self.hypotheses, self.skip_above, known_identity(url)
        void = {name: p for name in keys_of(url) if (p := known.probability(path, name)) >= least}
        if not void:
            return None
        base = hash_of(without(url, set(void)))
        is_first = site.memory.depth(base) is None and known.is_first(base, key)
        return _Link(min(void.values()), tuple(known.all[path, name] for name in void), base, is_first)

    def rules(self, site: SiteModel) -> list[UrlRule]:
        """Return URL rules, the surest first: ``copy``, to skip, and ``void_key``, to take out of URLs.

        What an expression would say of more URLs than the hypothesis is left out.
        """
        found = []
        for (pattern, key), kept in self.hypotheses.all.items():
            p = self.hypotheses.probability(pattern, key)
            is_below_host = bool(key) or len(site.patterns.lineage(pattern)) > _HOST_AND_ROOT
            if p >= self.skip_above and is_below_host and site.patterns.is_alone(pattern):
                tokens = site.patterns.tokens(pattern)
                if written := with_key(tokens, key) if key else expression_of(tokens):
                    kind = "void_key" if key else "copy"
                    found.append(UrlRule(kind, written, p, kept.agreed, kept.tries))
        return sorted(found, key=lambda rule: (-rule.confidence, -rule.total_count, rule.pattern))


class _Link(NamedTuple):
    """What is said of a link: how probable it leads to a copy, by what; and whether it is the first of them.

    `base` is the hash of its URL without void keys, 0 if it has none.
    """

    probability: float
    evidence: tuple[Evidence, ...]
    base: int = 0
    is_first: bool = False


def _path_of(site: SiteModel, pattern: int) -> int:
    """Return the URL pattern of the path of a pattern's URLs, whatever their query."""
    tokens = site.patterns.tokens(pattern)
    return site.patterns.lineage(pattern)[len(split_query(tokens)[1])]


def _is_found_without(site: SiteModel, page: int, pattern: int) -> bool:
    """Say whether a page is known from elsewhere than pages of a URL pattern: a seed, or linked by others."""
    sources = [source for source, _ in site.memory.contexts(page)]
    known = site.memory.patterns(sources)
    others = (each is None or site.patterns.resolve(each) != pattern for each in known)
    return any(others) or (not sources and site.memory.depth(page) is not None)
