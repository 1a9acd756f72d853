"""Regular expressions of the URLs on the way, learned from the patterns that were voted onto it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import re2

from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.policies.focus.itf import LearnedPattern, learn_from_groups
from linkscore_scoring.policies.focus.paths import ForumPaths, LinkTable
from linkscore_scoring.policies.focus.votes import ANY, KindVotes
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.sums import left_sum
from linkscore_scoring.types import INDEX, OTHER, PAGE_FLIP, THREAD, UrlRule

RULE_KINDS = ("index", "thread", "index_flip", "thread_flip")
"""Kinds of rules, as in the wire contract; a flip is a link that turns pages of the other two."""

# Bounds of a `RegexSet` that keep it far below `MAX_BYTES`.
MAX_PATTERNS = 1_000
MAX_PATTERN_CHARS = 4_000  # of one expression
MAX_TOTAL_CHARS = 100_000  # of all together
MAX_BYTES = 32 << 20
"""Most memory that a compiled set may take; a bound."""

_MAX_LEARNED, _MAX_EXPRESSIONS = 400, 24  # patterns learned from, and expressions of a kind; bounds
_MAX_OFF_PATH = 300  # URLs off the way that expressions are held against; a bound
_MAX_CHARS = 1_000  # of an expression; a longer one has learned its URLs by heart. A bound
_MAX_KNOWN = 20_000  # URLs whose type is remembered; a bound
_OFF_PATH_SHARE = 0.1  # URLs off the way that an expression may fit, against its own; chosen, not measured
_UNSUPPORTED = 0.5  # confidence in an expression without support, against one with; chosen, not measured

Group = tuple[str, int, int]
"""Kind of rule, coarsest pattern above, number of patterns above: what is learned from together."""


@dataclass(frozen=True, slots=True)
class Expression:
    """One learned expression: kind of rule, RE2, how sure the votes behind it are, and its support."""

    kind: str
    regex: str
    confidence: float
    matches: int
    total: int
    example: str

    @property
    def url_type(self) -> int:
        """Type of the URLs it fits."""
        return PAGE_FLIP if self.kind.endswith("flip") else INDEX if self.kind == "index" else THREAD


class Expressions(Stateful):
    """ITF expressions (Jiang 2013, section 4.3.2): index, thread, and the page links of both.

    Learned anew whenever the patterns on the way change, each from the URLs of patterns that share their
    first folder or program, so that a small board list keeps its expression beside a thousand threads. An
    expression that also fits URLs voted off the way is dropped if they are more than a tenth of its own.
    Cost O(sample URLs) to learn; matching is linear in the URL (RE2).
    """

    _basis: Stored[list[list[int]]]
    found: Stored[list[Expression]]

    def __init__(self) -> None:
        self._basis, self.found = [], []
        self._set = RegexSet([], [])
        self._known: dict[str, int] = {}

    def learn(self, paths: ForumPaths, links: LinkTable, votes: KindVotes) -> None:
        """Learn from the patterns on the way, unless they are the same as the last time."""
        basis = [sorted(paths.index), sorted(paths.thread)]
        if basis == self._basis:
            return
        self._basis = basis
        off_path = _off_path_urls(links, votes)
        groups = _groups(paths, links, votes)
        self.found = []
        for kind in RULE_KINDS:
            own = {group: urls for group, urls in groups.items() if group[0] == kind}
            learned = learn_from_groups([list(urls) for urls in own.values()])
            sure = _sureness(kind, paths, votes)
            kept = [pattern for pattern in learned if not _fits_off_path(pattern, off_path)]
            self.found += [_expression(kind, pattern, sure) for pattern in kept[:_MAX_EXPRESSIONS]]
        self._compile()

    def match(self, url: str) -> int:
        """Return the type of a URL, 0 if nothing fits; remembered until expressions are learned anew."""
        known = self._known.get(url)
        if known is None:
            rows = self._set.rows(url)
            known = self._set.types[rows[0]] if rows else 0
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[url] = known
        return known

    def rules(self) -> list[UrlRule]:
        """Return the expressions as rules."""
        return [UrlRule(e.kind, e.regex, e.confidence, e.matches, e.total, e.example) for e in self.found]

    def _compile(self) -> None:
        self._known.clear()
        self._set = RegexSet([e.regex for e in self.found], [e.url_type for e in self.found])

    def after_load(self) -> None:
        """Compile the expressions."""
        self._compile()


def _groups(paths: ForumPaths, links: LinkTable, votes: KindVotes) -> dict[Group, dict[str, None]]:
    """Return training URLs by group, those of the patterns with the most pages first."""
    groups: dict[Group, dict[str, None]] = {}
    for name, patterns in (("index", paths.index), ("thread", paths.thread)):
        for pattern in sorted(patterns, key=lambda p: -patterns[p])[:_MAX_LEARNED]:
            kind = f"{name}_flip" if votes.turns_pages(pattern) else name
            above = votes.patterns.above(pattern)
            group = (kind, above[0] if above else pattern, len(above))
            groups.setdefault(group, {}).update(dict.fromkeys(links.samples(pattern).values()))
    return groups


def _off_path_urls(links: LinkTable, votes: KindVotes) -> list[str]:
    """Return some URLs of patterns that were voted off the way."""
    urls: list[str] = []
    for pattern in links.targets():
        if len(urls) < _MAX_OFF_PATH and votes.pages(pattern) and votes.estimate(pattern, ANY).kind == OTHER:
            urls += list(links.samples(pattern).values())
    return urls[:_MAX_OFF_PATH]


def _fits_off_path(pattern: LearnedPattern, off_path: Sequence[str]) -> bool:
    if len(pattern.regex) > _MAX_CHARS:
        return True
    one = RegexSet([pattern.regex], [0])
    return sum(bool(one.rows(url)) for url in off_path) > _OFF_PATH_SHARE * pattern.matches


def _sureness(kind: str, paths: ForumPaths, votes: KindVotes) -> float:
    """Return the mean probability of the patterns of a kind, by their pages."""
    patterns = paths.index if kind.startswith("index") else paths.thread
    pages = {p: 1.0 + n for p, n in patterns.items()}
    return _mean((votes.estimate(p, ANY).prob, weight) for p, weight in pages.items())


def _mean(rows: Iterable[tuple[float, float]]) -> float:
    rows = list(rows)
    return left_sum(value * weight for value, weight in rows) / (
        left_sum(weight for _, weight in rows) or 1.0
    )


def _expression(kind: str, pattern: LearnedPattern, sure: float) -> Expression:
    confidence = round(sure if pattern.confident else _UNSUPPORTED * sure, 3)
    return Expression(kind, pattern.regex, confidence, pattern.matches, pattern.total, pattern.example)


class RegexSet:
    """A set of expressions, each of a type; a URL may be of several types.

    Parameters
    ----------
    patterns
        RE2 expressions, found anywhere in a URL unless they are anchored.
    types
        Type of each, as in `site.url_rules`; several patterns may be of one type.

    Raises
    ------
    InvalidInput
        A pattern is no RE2 expression (back references and look-around are none), or a bound is exceeded; the
        message names the pattern.

    Notes
    -----
    `match` and `rows` cost O(characters of the URL), in bounded memory; building O(characters of the
    patterns). The bounds keep the set far below `MAX_BYTES`, which a set may not reach while it matches.

    Examples
    --------
    >>> urls = RegexSet([r"^https?://h\\.example/t/[0-9]+$", r"/t/"], [2, 1])
    >>> urls.rows("http://h.example/t/7"), urls.match("http://h.example/t/7")
    ([0, 1], [1, 2])
    """

    def __init__(self, patterns: Sequence[str], types: Sequence[int]) -> None:
        _check_bounds(patterns)
        self.patterns, self.types = list(patterns), list(types)
        if len(self.patterns) != len(self.types):
            raise InvalidInput(
                f"must be one for each of {len(patterns)} patterns, got {len(types)}", field="types"
            )
        self._set = _compiled(self.patterns) if self.patterns else None

    def __len__(self) -> int:
        return len(self.patterns)

    def rows(self, url: str) -> list[int]:
        """Return the rows of the patterns that fit, ascending."""
        found = self._set.Match(url) if self._set is not None and "\x00" not in url else None
        return sorted(found) if found else []

    def match(self, url: str) -> list[int]:
        """Return every type of the patterns that fit, ascending, each once."""
        return sorted({self.types[row] for row in self.rows(url)})


def check_regex(pattern: str, field: str = "pattern") -> None:
    """Check that a pattern is an RE2 expression.

    Raises
    ------
    InvalidInput
        If it is not, with what RE2 says.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_BYTES
    try:
        re2.compile(pattern, options)
    except re2.error as exc:
        why = exc.args[0].decode("utf-8", "replace") if isinstance(exc.args[0], bytes) else exc
        raise InvalidInput(f"must be an RE2 expression ({why}), got {pattern[:200]!r}", field=field) from exc


def _check_bounds(patterns: Sequence[str]) -> None:
    if len(patterns) > MAX_PATTERNS:
        raise InvalidInput(f"must be at most {MAX_PATTERNS} patterns, got {len(patterns)}", field="patterns")
    for row, pattern in enumerate(patterns):
        if len(pattern) > MAX_PATTERN_CHARS:
            rule = f"must have at most {MAX_PATTERN_CHARS} characters, got {len(pattern)}"
            raise InvalidInput(rule, field=f"patterns[{row}]")
        check_regex(pattern, f"patterns[{row}]")
    if (total := sum(map(len, patterns))) > MAX_TOTAL_CHARS:
        raise InvalidInput(
            f"must have at most {MAX_TOTAL_CHARS} characters together, got {total}", field="patterns"
        )


def _compiled(patterns: Sequence[str]) -> re2.Set:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_BYTES
    compiled = re2.Set.SearchSet(options)
    try:
        for pattern in patterns:
            compiled.Add(pattern)
        compiled.Compile()
    except re2.error as exc:
        raise InvalidInput(
            f"must compile to at most {MAX_BYTES} bytes together ({exc})", field="patterns"
        ) from exc
    return compiled
