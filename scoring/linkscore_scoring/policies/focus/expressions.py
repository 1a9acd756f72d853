"""Regular expressions of the URLs on the way, learned from the patterns that were voted onto it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from linkscore_scoring.policies.focus.itf.learn import LearnedPattern, learn_from_groups
from linkscore_scoring.policies.focus.links import LinkPlaces
from linkscore_scoring.policies.focus.paths import Paths
from linkscore_scoring.policies.focus.regex_set import RegexSet
from linkscore_scoring.policies.focus.votes import ANY, KindVotes
from linkscore_scoring.types import INDEX, OTHER, PAGE_FLIP, THREAD, UrlRule

RULE_KINDS = ("index", "thread", "index_flip", "thread_flip")
_MOST_PATTERNS, _MOST_EXPRESSIONS, _MOST_STRANGERS = 400, 24, 300
_STRAY_SHARE = 0.1
_MOST_KNOWN = 20_000
_MOST_CHARS = 1_000

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


class Expressions:
    """ITF expressions (Jiang 2013, section 4.3.2): index, thread, and the flips of both.

    Learned anew whenever the patterns on the way change, each from the URLs of patterns that share their
    first folder or program, so that a small board list keeps its expression beside a thousand threads. An
    expression that also fits URLs voted off the way is dropped if they are more than a tenth of its own.
    Cost O(sample URLs) to learn; matching is linear in the URL (RE2).
    """

    def __init__(self) -> None:
        self.found: list[Expression] = []
        self._basis: list[list[int]] = []
        self._set = RegexSet([], [])
        self._known: dict[str, int] = {}

    def learn(self, paths: Paths, places: LinkPlaces, votes: KindVotes) -> None:
        """Learn from the patterns on the way, unless they are the same as the last time."""
        basis = [sorted(paths.index), sorted(paths.thread)]
        if basis == self._basis:
            return
        self._basis = basis
        strangers = _strangers(places, votes)
        groups = _groups(paths, places, votes)
        self.found = []
        for kind in RULE_KINDS:
            own = {group: urls for group, urls in groups.items() if group[0] == kind}
            learned = learn_from_groups([list(urls) for urls in own.values()])
            sure = _sureness(kind, paths, votes)
            kept = [pattern for pattern in learned if not _strays(pattern, strangers)]
            self.found += [_expression(kind, pattern, sure) for pattern in kept[:_MOST_EXPRESSIONS]]
        self._compile()

    def match(self, url: str) -> int:
        """Return the type of a URL, 0 if nothing fits; remembered until expressions are learned anew."""
        known = self._known.get(url)
        if known is None:
            rows = self._set.rows(url)
            known = self._set.types[rows[0]] if rows else 0
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[url] = known
        return known

    def rules(self) -> list[UrlRule]:
        """Return the expressions as rules."""
        return [UrlRule(e.kind, e.regex, e.confidence, e.matches, e.total, e.example) for e in self.found]

    def _compile(self) -> None:
        self._known.clear()
        self._set = RegexSet([e.regex for e in self.found], [e.url_type for e in self.found])

    def to_state(self) -> dict[str, Any]:
        """Return the expressions as plain values."""
        return {"basis": self._basis, "found": [list(astuple(e)) for e in self.found]}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the expressions of `to_state`."""
        self._basis = [list(map(int, patterns)) for patterns in state["basis"]]
        self.found = [
            Expression(str(kind), str(regex), float(sure), int(matches), int(total), str(example))
            for kind, regex, sure, matches, total, example in state["found"]
        ]
        self._compile()


def _groups(paths: Paths, places: LinkPlaces, votes: KindVotes) -> dict[Group, dict[str, None]]:
    """Return training URLs by group, those of the patterns with the most pages first."""
    groups: dict[Group, dict[str, None]] = {}
    for name, patterns in (("index", paths.index), ("thread", paths.thread)):
        for pattern in sorted(patterns, key=lambda p: -patterns[p])[:_MOST_PATTERNS]:
            kind = f"{name}_flip" if votes.is_flip(pattern) else name
            above = votes.patterns.above(pattern)
            group = (kind, above[0] if above else pattern, len(above))
            groups.setdefault(group, {}).update(dict.fromkeys(places.samples(pattern).values()))
    return groups


def _strangers(places: LinkPlaces, votes: KindVotes) -> list[str]:
    """Return some URLs of patterns that were voted off the way."""
    urls: list[str] = []
    for pattern in places.targets():
        if len(urls) < _MOST_STRANGERS and votes.pages(pattern) and votes.judge(pattern, ANY).kind == OTHER:
            urls += list(places.samples(pattern).values())
    return urls[:_MOST_STRANGERS]


def _strays(pattern: LearnedPattern, strangers: Sequence[str]) -> bool:
    if len(pattern.regex) > _MOST_CHARS:
        return True
    one = RegexSet([pattern.regex], [0])
    return sum(bool(one.rows(url)) for url in strangers) > _STRAY_SHARE * pattern.matches


def _sureness(kind: str, paths: Paths, votes: KindVotes) -> float:
    """Return the mean probability of the patterns of a kind, by their pages."""
    patterns = paths.index if kind.startswith("index") else paths.thread
    pages = {p: 1.0 + n for p, n in patterns.items()}
    return _mean((votes.judge(p, ANY).prob, weight) for p, weight in pages.items())


def _mean(rows: Iterable[tuple[float, float]]) -> float:
    rows = list(rows)
    return sum(value * weight for value, weight in rows) / (sum(weight for _, weight in rows) or 1.0)


def _expression(kind: str, pattern: LearnedPattern, sure: float) -> Expression:
    confidence = round(sure if pattern.confident else 0.5 * sure, 3)
    return Expression(kind, pattern.regex, confidence, pattern.matches, pattern.total, pattern.example)
