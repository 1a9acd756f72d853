"""What is learned of a forum page by page: votes, the way to its threads, its entry, and how certain all is.

`ForumModel` is the whole. At the end of this file: `certainty`, which says whether there is a way from an
entry over indexes to threads beyond doubt.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from urllib.parse import urlsplit

from linkscore_scoring.columns import left_sum, shrunk
from linkscore_scoring.hashing import hash64
from linkscore_scoring.pagination.page_links import FirstPages, paged
from linkscore_scoring.policies.focus.paths import (
    ANY,
    UNDECIDED,
    ForumPaths,
    KindVotes,
    LinkGroup,
    LinkTable,
    Shares,
    find_paths,
)
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import INDEX, OTHER, PAGE_FLIP, THREAD, LinkBatch, PageObservation, UrlRule
from linkscore_scoring.urls.identity import identity, known_identity
from linkscore_scoring.urls.pattern_tree import (
    UrlPatternParams,
    UrlPatterns,
    expression_of,
    is_fixed,
    wildcard_of,
)

Tokens = tuple[str, ...]

_TYPES = {"index": INDEX, "thread": THREAD, "index_flip": PAGE_FLIP, "thread_flip": PAGE_FLIP}
"""Type of the URLs of each kind of rule; a flip is a link that turns pages of the other two."""
_FEW = 4  # patterns that differ in one value before any value may stand there; chosen, not measured
_MAX_PATTERNS = 400  # of index pages, and of threads: those with the most pages; a bound
_MAX_RULES = 200  # those of the most patterns; a bound: each URL is held against all
_MAX_OFF_PATH = 300  # URLs off the way that expressions are held against; a bound
_MAX_KNOWN = 20_000  # URLs whose type is remembered; a bound
_OFF_PATH_SHARE = 0.1  # URLs off the way that an expression may fit, against its own; chosen, not measured


class Expressions(Stateful):
    """Expressions of index pages, of threads, and of the page links of both.

    Differences from the paper, which refines ``*`` token by token over the URLs of one type: patterns are
    those of the tree that votes are pooled by; four that differ in one value have one with any value, too.
    """

    found: Stored[list[UrlRule]]

    def __init__(self) -> None:
        self.after_load()

    def learn(self, paths: ForumPaths, links: LinkTable, votes: KindVotes) -> None:
        """Write the patterns on the way, those with the most pages first."""
        off_path, forms = _off_path_urls(links, votes), defaultdict[tuple[str, Tokens], list[int]](list)
        for name, on_way in (("index", paths.index), ("thread", paths.thread)):
            for pattern in sorted(on_way, key=lambda pattern: -on_way[pattern])[:_MAX_PATTERNS]:
                kind = f"{name}_flip" if votes.turns_pages(pattern) else name
                tokens = tuple(votes.patterns.tokens(pattern))
                forms[kind, tokens].insert(0, pattern)
                for wider in _wider(tokens):
                    forms[kind, wider].append(pattern)
        rules: list[UrlRule] = []
        for (kind, tokens), patterns in sorted(forms.items(), key=lambda form: -len(form[1])):
            if len(patterns) < _FEW and tokens != tuple(votes.patterns.tokens(patterns[0])):
                continue
            urls = [url for pattern in patterns for url in links.samples.get(pattern, {}).values()]
            written = re.compile(expression_of(tokens) or "$")
            own = [url for url in urls if written.match(url)]
            if not own or any(all(re.match(rule.pattern, url) for url in own) for rule in rules):
                continue
            if sum(written.match(url) is not None for url in off_path) > _OFF_PATH_SHARE * len(own):
                continue
            sure = left_sum(votes.estimate(pattern, ANY).prob for pattern in patterns) / len(patterns)
            rules.append(UrlRule(kind, written.pattern, round(sure, 3), len(own), len(urls), own[0]))
            if len(rules) == _MAX_RULES:
                break
        self.found = rules
        self.after_load()

    def match(self, url: str) -> int:
        """Return the type of a URL, 0 if nothing fits; remembered until expressions are learned anew."""
        if (known := self._known.get(url)) is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = next((kind for written, kind in self._written if written.match(url)), 0)
            self._known[url] = known
        return known

    def after_load(self) -> None:
        """Compile the expressions."""
        self._known: dict[str, int] = {}
        self._written = [(re.compile(rule.pattern), _TYPES[rule.kind]) for rule in self.found]


def _wider(tokens: Tokens) -> Iterator[Tokens]:
    """Yield the slots of a pattern with one of its values open, each in turn."""
    for at, token in enumerate(tokens):
        if at and not (is_fixed(token) or token.startswith("?")):
            yield (*tokens[:at], wildcard_of(token), *tokens[at + 1 :])


def _off_path_urls(links: LinkTable, votes: KindVotes) -> list[str]:
    """Return some URLs of patterns that were voted off the way."""
    urls: list[str] = []
    for pattern, samples in links.samples.items():
        if len(urls) < _MAX_OFF_PATH and votes.pages(pattern) and votes.estimate(pattern, ANY).kind == OTHER:
            urls += samples.values()
    return urls[:_MAX_OFF_PATH]


# The way is found anew after every page at first, then after 5 % more pages, or as soon as a pattern has
# changed but not before 2 % more. Chosen, not measured: a review costs O(link groups).
_EARLY, _GROWTH, _CHANGE = 32, 0.05, 50
_PATTERNS = UrlPatternParams(max_values=24, min_count=8, min_share=0.01)
"""Of the model's own tree: finer than the site's, so that boards and topics of few URLs stay apart; chosen on
the stored sites."""

_FAILED: Shares = (0.0, 0.0, 0.5)  # half a vote: a page that is missing today; chosen, not measured
_COPY_TEXT = 0.5  # share of own text from which a copy that came first counts half; chosen, not measured
_FIRST_COPY = 0.5  # how far such a page is a copy
_SEVERAL = 3  # index pages of a pattern from which it is a list of indexes, none of them the entry; as above

_NEWS_PRIOR = 2.0  # pages of the mean an index pattern begins with; chosen, not measured

# What makes the way certain. Set by hand: wiki_x3 must not pass (research/notebook/focus.md).
_THREADS, _INDEXES = 3, 2  # URLs of each, at least
_UNPAGED_THREADS = 20  # threads that do where there are no page links
_THREAD_SHARE, _ON_WAY_SHARE = 0.1, 0.3  # of pages with a layout: threads; threads and indexes
_SLACK = 0.5  # share of these down to which the way stays certain

LinkRow = tuple[int, int, int, str]
"""URL pattern, folded link path, identity hash and URL of a link."""


MAX_CANDIDATES = 30
"""Candidates kept, those of the shortest paths; a bound."""

# Chosen on the stored forums, Q&A site and blog; the entry was found from 60 of 60 random pages
# (research/notebook/focus.md).
_EVERYWHERE = 0.9  # share of the pages that link to a candidate
_FIRST_PAGES = 20  # pages whose links may become candidates, and after which others are dropped
_NEAR = 0.6  # share of the best candidate's index URLs that is about as many
_MAX_FOLDERS = 4  # folders above a page that are guessed; a bound
_KEYWORD = re.compile(r"(?i)^(https?://[^/]+/(?:[^?#]*/)?(?:forums?|boards?|community|bbs|discuss)/)")
_ROOT = re.compile(r"https?://[^/]+")


@dataclass(slots=True)
class EntryCandidate:
    """A page that may be the entry."""

    url: str  # its URL
    linked: int = 0  # pages that link to it; 0 for one that was guessed
    pattern: int = -1  # its URL pattern, -1 before it came
    came: bool = False  # it was fetched
    # How many distinct targets its links have, by link group.
    groups: dict[LinkGroup, int] = field(default_factory=dict)


class EntrySearch(Stateful):
    """URLs that nearly every page links to, roots and path prefixes; the one with most index URLs wins.

    Jiang 2013, section 4.4.
    """

    pages: Stored[int]
    _found: Stored[dict[int, EntryCandidate]]

    def see(
        self,
        keys: Iterable[int],
        url: str,
        targets: Mapping[int, str],
        groups: Mapping[LinkGroup, int],
        pattern: int,
    ) -> None:
        """Take in a page."""
        self.pages += 1
        for guess in guesses(url) if self.pages == 1 else ():
            self._found.setdefault(hash64(identity(guess)), EntryCandidate(guess, 0))
        for key, target in targets.items():
            if key in self._found:
                self._found[key].linked += 1
            elif self.pages <= _FIRST_PAGES:
                self._found[key] = EntryCandidate(target, 1)
        keep = self.pages <= _FIRST_PAGES
        for key in dict.fromkeys(keys):
            if keep:
                self._found.setdefault(key, EntryCandidate(url))
            if key in self._found:
                found = self._found[key]
                found.groups, found.pattern, found.came = dict(groups), pattern, True
        if self.pages % _FIRST_PAGES == 0:
            best = list(map(id, self._best()))
            self._found = {key: found for key, found in self._found.items() if id(found) in best}

    def _best(self) -> list[EntryCandidate]:
        """Return what nearly all pages, but perhaps the page itself, link to, and what was guessed."""
        least = _EVERYWHERE * self.pages - 1.0
        found = (c for c in self._found.values() if c.linked >= least or not c.linked)
        return sorted(found, key=lambda c: shortness(c.url))[:MAX_CANDIDATES]

    def candidates(self) -> list[EntryCandidate]:
        """Return the candidates, shortest path first; none before the second page."""
        return self._best() if self.pages > 1 else []

    def entry(
        self, n_index: Callable[[Mapping[LinkGroup, int]], int], is_listed: Callable[[int], bool]
    ) -> EntryCandidate | None:
        """Return the entry, None while no candidate that came shows an index URL."""
        came = [c for c in self.candidates() if c.came and not is_listed(c.pattern)]
        counts = [n_index(c.groups) for c in came]
        most = max(counts, default=0)
        if not most:
            return None
        near = [c for c, n in zip(came, counts, strict=True) if n >= _NEAR * most]
        return min(near, key=lambda c: shortness(c.url))

    def named(self, url: str) -> EntryCandidate | None:
        """Return the candidate of a URL."""
        return next((c for c in self._found.values() if c.url == url), None)


def guesses(url: str) -> list[str]:
    """Return what may be the entry judging from one URL: up to a keyword, the root, the folders above."""
    keyword = _KEYWORD.match(url)
    root = _ROOT.match(url)
    path = urlsplit(url).path.split("/")[1:-1]
    base = root.group() if root else ""
    folders = [f"{base}/{'/'.join(path[: n + 1])}/" for n in range(min(len(path), _MAX_FOLDERS))]
    whole = [keyword.group(1)] if keyword else []
    return list(dict.fromkeys([*whole, *([f"{base}/"] if base else []), *folders]))


def shortness(url: str) -> tuple[int, int, str]:
    """Return the order of entries of equal rank: fewer folders, then a shorter URL."""
    parts = urlsplit(url)
    return len([part for part in parts.path.split("/") if part]) + bool(parts.query), len(url), url


class ForumModel(Stateful):
    """Votes, links, entry and way of one site; see the parts.

    Jiang, Song, Yu and Lin 2013; the differences are those of `Focus`.
    """

    patterns: Stored[UrlPatterns]
    votes: Stored[KindVotes]
    links: Stored[LinkTable]
    entries: Stored[EntrySearch]
    paths: Stored[ForumPaths]
    expressions: Stored[Expressions]
    threads: Stored[FirstPages]
    dry: Stored[dict[int, int]]
    news: Stored[dict[int, tuple[int, int]]]
    certainty: Stored[Certainty]
    pages: Stored[int]
    typed: Stored[int]
    _entry_url: Stored[str]
    _reviewed: Stored[int]
    _due: Stored[int]

    def __init__(self) -> None:
        self.patterns = UrlPatterns(_PATTERNS)
        self.votes = KindVotes(self.patterns)
        self.links = LinkTable()
        self.entries = EntrySearch()
        self.paths = ForumPaths()
        self.expressions = Expressions()
        self.threads = FirstPages()
        self.entry: EntryCandidate | None = None
        self.certainty = UNCERTAIN
        self._due = 1

    def fail(self, page: PageObservation, site: SiteModel) -> None:
        """Count a fetch without a page: half a vote that its pattern leads nowhere."""
        pattern = self.pattern_of(page.requested_url)
        self.votes.cast(pattern, _folded(page, site), _FAILED, copy=0.0)

    def observe(
        self, page: PageObservation, shares: Shares, page_links: Sequence[int], site: SiteModel
    ) -> None:
        """Take in a page; one that comes again shows its links, and does not vote again."""
        for url in compress(page.links.urls, page.fresh):
            self.patterns.insert(known_identity(url))
        pattern = self.pattern_of(page.requested_url)
        self.pages += 1
        kind = _kind_of(shares)
        if kind != UNDECIDED and not page.refetch:
            self.typed += 1
            # One that came first with text of its own repeats its canonical form less.
            is_first = page.own_chars >= _COPY_TEXT * page.long_chars and page.long_chars
            copy = 0.0 if not page.is_copy else _FIRST_COPY if is_first else 1.0
            self.votes.cast(pattern, _folded(page, site), shares, copy=copy)
        rows = self.link_rows(page.links, site)
        self.links.see(pattern, rows)
        for paged_pattern, share in page_link_shares(rows, page_links).items():
            self.votes.count_page_links(paged_pattern, kind, share)
        if not page.refetch:
            self._see_entry(page, pattern, rows)
            self._count_news(page, pattern, rows)
        self.threads.observe(page)
        changed = self.pages >= self._reviewed + self.pages // _CHANGE and self._has_changed(pattern)
        if self.pages >= self._due or changed:
            self.review()

    def review(self) -> None:
        """Find the way anew; after every page at first, then after 5 % more pages or a change of mind."""
        self.votes.merge_patterns()
        self.links.merge_patterns(self.patterns.resolve)
        indexes = [source for source in self.links.groups if self.votes.estimate(source, ANY).kind == INDEX]
        self.paths = find_paths(indexes, self.links, self.votes)
        self.entry = self.entries.entry(self.n_index, self._is_listed)
        self._entry_url = self.entry.url if self.entry is not None else ""
        if self.entry is not None:
            root = self.patterns.resolve(self.entry.pattern)
            self.paths = find_paths([root], self.links, self.votes)
        self.expressions.learn(self.paths, self.links, self.votes)
        self.certainty = certainty(self)
        self.dry = {p: self.dry[p] for p in self.paths.index if p in self.dry}
        self.news = {p: self.news[p] for p in self.paths.index if p in self.news}
        self._reviewed = self.pages
        self._due = self.pages + (1 if self.pages < _EARLY else int(_GROWTH * self.pages))

    def pattern_of(self, url: str) -> int:
        """Return the pattern of a URL in the tree of this model, whatever form it is written in."""
        return self.patterns.finest(known_identity(url))

    def link_rows(self, links: LinkBatch, site: SiteModel) -> list[LinkRow]:
        """Return (URL pattern, folded link path, key, URL) of each link; O(n_links)."""
        patterns = {url: self.pattern_of(url) for url in dict.fromkeys(links.urls)}
        columns = zip(site.link_paths.folded(links.link_paths), links.keys, links.urls, strict=True)
        return [(patterns[url], folded, key, url) for folded, key, url in columns]

    def type_of(self, pattern: int, link_path: int, fits: int) -> int:
        """Return the type of URLs of a link group; see `ForumPaths.type_of`."""
        return self.paths.type_of(self.patterns.resolve(pattern), link_path, fits)

    def news_of(self, patterns: Iterable[int]) -> list[float]:
        """Return how many threads nobody knew an index page of each pattern shows, in threads a page."""
        pages, news = sum(n for n, _ in self.news.values()), sum(n for _, n in self.news.values())
        mean = news / pages if pages else 0.0
        found = [self.news.get(self.patterns.resolve(pattern), (0, 0)) for pattern in patterns]
        return [shrunk(shown, n, mean, _NEWS_PRIOR) for n, shown in found]

    def thread_of(self, page: PageObservation) -> str:
        """Return the identity of the first page of a thread page's thread; empty for other pages."""
        estimate = self.votes.estimate(self.pattern_of(page.requested_url), ANY)
        if estimate.likely != THREAD and not self.votes.is_copied(self.pattern_of(page.requested_url)):
            return ""
        return known_identity(self.threads.first_page(page.key) or page.url)

    def is_entry(self, page: PageObservation) -> bool:
        """Say whether a page is the entry."""
        return self.entry is not None and known_identity(self.entry.url) in (
            page.requested_url,
            known_identity(page.url),
        )

    def _has_changed(self, pattern: int) -> bool:
        """Say whether a pattern is no longer what it was at the last review."""
        before = self.paths.type_of(pattern, ANY, 0)
        kind = self.votes.estimate(pattern, ANY).kind
        return kind not in (UNDECIDED, before) and before != PAGE_FLIP

    def _count_news(self, page: PageObservation, pattern: int, rows: Sequence[LinkRow]) -> None:
        """Count the threads that a page of an index pattern is the first to show, and pages without one."""
        if pattern not in self.paths.index or pattern in self.paths.page_links:
            return
        match, fresh = self.expressions.match, compress(rows, page.fresh)
        shown = {key for p, a, key, url in fresh if self.type_of(p, a, match(known_identity(url))) == THREAD}
        pages, news = self.news.get(pattern, (0, 0))
        self.news[pattern] = pages + 1, news + len(shown)
        self.dry[pattern] = 0 if shown else self.dry.get(pattern, 0) + 1

    def _see_entry(self, page: PageObservation, own: int, rows: Sequence[LinkRow]) -> None:
        targets = {key: url for _, _, key, url in rows if key != page.key}
        distinct = dict.fromkeys(row[:3] for row in rows)
        groups = dict(Counter((pattern, link_path) for pattern, link_path, _ in distinct))
        self.entries.see((page.requested, page.key), page.url, targets, groups, own)

    def n_index(self, groups: Mapping[LinkGroup, int]) -> int:
        """Return how many distinct index URLs are among links, counted by link group."""
        resolve = self.patterns.resolve
        return sum(n for (p, a), n in groups.items() if self.votes.estimate(resolve(p), a).kind == INDEX)

    def _is_listed(self, pattern: int) -> bool:
        pattern = self.patterns.resolve(pattern)
        estimate = self.votes.estimate(pattern, ANY).kind
        return estimate == THREAD or (estimate == INDEX and self.votes.pages(pattern) >= _SEVERAL)

    def after_load(self) -> None:
        """Find the entry again; what else a review finds is kept."""
        self.entry = self.entries.named(self._entry_url)


def page_link_shares(rows: Sequence[LinkRow], page_links: Sequence[int]) -> dict[int, float]:
    """Return the share of its distinct URLs on a page that turn pages, by URL pattern."""
    turning = {
        (row[0], row[2])
        for row, turns in zip(rows, page_links, strict=False)
        if turns and paged(row[3]).number is not None
    }
    every = dict.fromkeys((row[0], row[2]) for row in rows)
    shares: dict[int, list[int]] = {}
    for link in every:
        shares.setdefault(link[0], []).append(link in turning)
    return {pattern: sum(turns) / len(turns) for pattern, turns in shares.items()}


def _folded(page: PageObservation, site: SiteModel) -> list[int]:
    return [site.link_paths.get(link_path).folded for _, link_path in page.contexts]


def _kind_of(shares: Shares) -> int:
    best = max(range(3), key=shares.__getitem__)
    return (INDEX, THREAD, OTHER)[best] if shares[best] > 0.0 else UNDECIDED


@dataclass(frozen=True, slots=True)
class Certainty:
    """Whether the way is certain, and why or why not in words."""

    ready: bool
    text: str


UNCERTAIN = Certainty(False, "abstains: no page was seen yet")


def certainty(model: ForumModel) -> Certainty:
    """Return how certain the way is; cost O(patterns on the way)."""
    slack = _SLACK if model.certainty.ready else 1.0
    threads, index = left_sum(model.paths.thread.values()), left_sum(model.paths.index.values())
    index += model.entry is not None
    share, on_way = slack * _THREAD_SHARE, slack * _ON_WAY_SHARE
    missing = [
        why
        for why, lacks in (
            (
                f"page layouts are known of {model.typed} of {model.pages} pages",
                2 * model.typed < model.pages,
            ),
            (f"{threads:.0f} thread pages of decided patterns, {_THREADS} are needed", threads < _THREADS),
            (f"{index:.0f} index pages of decided patterns, {_INDEXES} are needed", index < _INDEXES),
            (
                f"threads are {_percent(threads, model)} of the pages seen, {share:.0%} are needed",
                threads < share * model.typed,
            ),
            (
                f"threads and indexes are {_percent(threads + index, model)} of the pages seen, "
                f"{on_way:.0%} are needed",
                threads + index < on_way * model.typed,
            ),
            (
                f"no page flips on these, and not {_UNPAGED_THREADS} threads that outnumber the indexes",
                not model.votes.n_page_links() and (threads < _UNPAGED_THREADS or threads < index),
            ),
        )
        if lacks
    ]
    if missing:
        return Certainty(False, f"abstains, no forum so far: {'; '.join(missing)}")
    return Certainty(True, _found(threads, index, model))


def _found(threads: float, index: float, model: ForumModel) -> str:
    paths = model.paths
    entry = f"entry {model.entry.url}" if model.entry is not None else "no entry found yet"
    return (
        f"follows {len(paths.index)} index and {len(paths.thread)} thread URL patterns, "
        f"{len(paths.page_links)} of them page flips, by {index:.0f} index and {threads:.0f} thread pages of "
        f"{model.typed}; {entry}"
    )


def _percent(part: float, model: ForumModel) -> str:
    return f"{part / max(1, model.typed):.0%}"
