"""Regular expressions of the URLs on the way (ITF regexes, Jiang 2013, section 4.3.2).

`Expressions` learns them from the patterns that were voted onto the way: `learn_patterns` puts the steps
together, `Refiner` refines ``*`` token by token while enough URLs fit, `url_regex` writes a pattern as an RE2
expression.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from urllib.parse import unquote

import re2

from linkscore_scoring.columns import left_sum
from linkscore_scoring.policies.focus.paths import ANY, ForumPaths, KindVotes, LinkTable
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import INDEX, OTHER, PAGE_FLIP, THREAD, UrlRule
from linkscore_scoring.urls.identity import known_identity

RULE_KINDS = ("index", "thread", "index_flip", "thread_flip")
"""Kinds of rules, as in the wire contract; a flip is a link that turns pages of the other two."""

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


class Expressions(Stateful):
    """ITF expressions (Jiang 2013, section 4.3.2): index, thread, and the page links of both."""

    _basis: Stored[list[list[int]]]
    found: Stored[list[UrlRule]]

    def __init__(self) -> None:
        self._set = RegexSet([])
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
            learned = learn_patterns(*own.values())
            sure = _sureness(kind, paths, votes)
            kept = [pattern for pattern in learned if not _fits_off_path(pattern, off_path)]
            for each in kept[:_MAX_EXPRESSIONS]:
                confidence = round(sure if each.confident else _UNSUPPORTED * sure, 3)
                self.found.append(
                    UrlRule(kind, each.regex, confidence, each.matches, each.total, each.example)
                )
        self.after_load()

    def match(self, url: str) -> int:
        """Return the type of a URL, 0 if nothing fits; remembered until expressions are learned anew."""
        known = self._known.get(url)
        if known is None:
            rows = self._set.rows(url)
            kind = self.found[rows[0]].kind if rows else ""
            known = PAGE_FLIP if kind.endswith("flip") else {"index": INDEX, "thread": THREAD}.get(kind, 0)
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[url] = known
        return known

    def after_load(self) -> None:
        """Compile the expressions."""
        self._known.clear()
        self._set = RegexSet([rule.pattern for rule in self.found])


def _groups(paths: ForumPaths, links: LinkTable, votes: KindVotes) -> dict[Group, dict[str, None]]:
    """Return training URLs by group, those of the patterns with the most pages first."""
    groups: dict[Group, dict[str, None]] = {}
    for name, patterns in (("index", paths.index), ("thread", paths.thread)):
        for pattern in sorted(patterns, key=lambda p: -patterns[p])[:_MAX_LEARNED]:
            kind = f"{name}_flip" if votes.turns_pages(pattern) else name
            above = votes.patterns.above(pattern)
            group = (kind, above[0] if above else pattern, len(above))
            groups.setdefault(group, {}).update(dict.fromkeys(links.samples.get(pattern, {}).values()))
    return groups


def _off_path_urls(links: LinkTable, votes: KindVotes) -> list[str]:
    """Return some URLs of patterns that were voted off the way."""
    urls: list[str] = []
    for pattern, samples in links.samples.items():
        if len(urls) < _MAX_OFF_PATH and votes.pages(pattern) and votes.estimate(pattern, ANY).kind == OTHER:
            urls += samples.values()
    return urls[:_MAX_OFF_PATH]


def _fits_off_path(pattern: LearnedPattern, off_path: Sequence[str]) -> bool:
    if len(pattern.regex) > _MAX_CHARS:
        return True
    one = RegexSet([pattern.regex])
    return sum(bool(one.rows(url)) for url in off_path) > _OFF_PATH_SHARE * pattern.matches


def _sureness(kind: str, paths: ForumPaths, votes: KindVotes) -> float:
    """Return the mean probability of the patterns of a kind, by their pages."""
    patterns = paths.index if kind.startswith("index") else paths.thread
    pages = {p: 1.0 + n for p, n in patterns.items()}
    weighed = left_sum(votes.estimate(p, ANY).prob * weight for p, weight in pages.items())
    return weighed / (left_sum(pages.values()) or 1.0)


class RegexSet:
    """A set of expressions; matching costs O(characters of the URL), in bounded memory."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._is_empty = not patterns  # of which RE2 makes no set
        self._set = re2.Set.SearchSet(_OPTIONS)
        for pattern in patterns:
            self._set.Add(pattern)
        self._set.Compile()

    def rows(self, url: str) -> list[int]:
        """Return the rows of the patterns that fit, ascending."""
        found = None if self._is_empty or "\x00" in url else self._set.Match(url)
        return sorted(found) if found else []


MAX_URLS = 2_000
"""Training URLs looked at, the first ones; a bound."""

SHARE = 0.2
"""A pattern needs more than this share of the training URLs (Jiang 2013: more than 20 %)."""

D_MIN = 5
"""Distinct words of a slot that make it a slug; fewer branch by word, as the paper's example needs."""

MAX_ORDERS = 6
"""Orders of the query that one expression allows for; a bound."""

SEPARATORS = "/?&.="
"""What a slug never runs over."""

NARROW_SIGNS = ":;@"
"""Signs a slug leaves out unless the URLs it was learned from have them: ``Category:Ships`` is no article."""

NUMBER = r"\d+"
"""Wildcard: a run of digits."""

_FEW = 5  # URLs below which two must fit, as a share of them would be one; chosen, not measured
_SEEN_ORDERS = 3  # spellings of a URL looked at for orders of its query; a bound
_MAX_SUFFIX = 5  # characters of a file name's suffix; longer ones are part of a slug
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.max_mem = MAX_BYTES
_WHOLE_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+|[0-9]+|[^\W\d_]+|.", re.DOTALL)
_ESCAPES = {"5B": r"\[", "5D": r"\]", "3A": ":", "20": r"\+", "2C": ",", "40": "@"}
"""Characters that raw URLs have as they are where canonical ones have an escape."""


@dataclass(frozen=True, slots=True)
class LearnedPattern:
    """One learned pattern."""

    regex: str  # RE2 expression, anchored at both ends
    matches: int  # distinct training URLs that fit, of how many
    total: int
    confident: bool  # the pattern has the support it needs
    example: str = ""  # the first training URL that fits


def learn_patterns(*groups: Iterable[str]) -> list[LearnedPattern]:
    """Return what URLs of one type have in common, best supported pattern first.

    From ``*``, patterns are refined token by token as long as more than a fifth of all training URLs fit: a
    run of digits becomes ``\\d+``; words of which a slot has fewer than five branch; else frequent words
    branch, and all others are one slug. If no pattern has support, those are returned, not `confident`, that
    have most. Each link group is learned by itself, so a small one beside a large one keeps its pattern;
    counts are over the URLs of all.

    Jiang 2013, section 4.3.2; after Koppula et al. 2010. Differences: http and https are one; a slash at the
    end of a path may be missing; the query fits in the sorted order and in every order seen; a slug may begin
    with a digit or an escape, takes in every sign but separators, and leaves out signs such as the colon that
    few of its URLs have.
    """
    whole, found = dict[str, list[str]](), dict[str, bool]()
    for group in groups:
        raw: dict[str, list[str]] = {}
        for url in islice(group, MAX_URLS):
            raw.setdefault(known_identity(url), []).append(url)
        whole |= raw
        refiner, n = Refiner(list(raw)), len(raw)
        least = sure = max(SHARE * n, 1.0 if n < _FEW else 0.0)
        while n and not (patterns := refiner.patterns(least)):
            least /= 2.0
        for pieces in patterns if n else ():
            regex = url_regex(pieces, _orders(pieces, raw))
            found[regex] = found.get(regex, False) or least == sure
    kept = [regex for regex, confident in found.items() if confident] or list(found)
    return _without_subsumed((_counted(regex, whole, found[regex]) for regex in kept), list(whole))


def _orders(pieces: Sequence[Piece], raw: dict[str, list[str]]) -> list[tuple[str, ...]]:
    """Return the orders of query keys in which the URLs were seen."""
    if not any(piece.text == "?" for piece in pieces):
        return []
    seen = dict[tuple[str, ...], None]()
    for urls in raw.values():
        for url in urls[:_SEEN_ORDERS]:
            query = url.partition("?")[2]
            seen[tuple(map(key_of, query.split("&")))] = None
    return list(seen)


def _fitting(regex: str, keys: Iterable[str]) -> list[str]:
    """Return the keys that an expression fits; by RE2, as it is made of URLs and must not backtrack."""
    try:
        compiled = re2.compile(regex, _OPTIONS)
    except re2.error:  # larger than RE2 takes: it would be no rule either
        return []
    return [key for key in keys if compiled.match(key)]


def _counted(regex: str, raw: dict[str, list[str]], confident: bool) -> LearnedPattern:
    fitting = _fitting(regex, raw)
    return LearnedPattern(regex, len(fitting), len(raw), confident, raw[fitting[0]][0] if fitting else "")


def _without_subsumed(learned: Iterable[LearnedPattern], keys: Sequence[str]) -> list[LearnedPattern]:
    """Return patterns by support, without those whose URLs one before them fits too."""
    kept: list[tuple[LearnedPattern, set[str]]] = []
    for pattern in sorted(learned, key=lambda p: (-p.confident, -p.matches, len(p.regex))):
        fitting = set(_fitting(pattern.regex, keys))
        if fitting and not any(fitting <= other for _, other in kept):
            kept.append((pattern, fitting))
    return [pattern for pattern, _ in kept]


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a pattern: a wildcard, or text that stands for itself."""

    text: str
    is_wild: bool = False


@dataclass(slots=True)
class _Branch:
    """URLs that share a pattern so far, each as its row and how many of its tokens the pattern covers."""

    pieces: tuple[Piece, ...]
    members: list[tuple[int, int]] = field(default_factory=list)


class Refiner:
    """Finds the patterns of training URLs."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._rows = [tokens_after_host(url) for url in urls]

    def patterns(self, least: float) -> list[tuple[Piece, ...]]:
        """Return the patterns of more than so many URLs, in order of refinement. Cost O(characters).

        Of few URLs words are slugs, that patterns without support are no narrower than need be.
        """
        frequent = SHARE * len(self._rows)
        self._frequent, self._slug_words = (frequent, D_MIN) if least >= frequent else (inf, 2)
        found: list[tuple[Piece, ...]] = []
        branches = [_Branch((), [(row, 0) for row in range(len(self._rows))])]
        while branches:
            branch = branches.pop()
            if len(branch.members) <= least:
                continue
            ended = [row for row, at in branch.members if at == len(self._rows[row])]
            if len(ended) > least:
                found.append(branch.pieces)
            branches += reversed(self._refined(branch))
        return found

    def _refined(self, branch: _Branch) -> list[_Branch]:
        """Return the branches of one slot, the slug last."""
        going = [(row, at) for row, at in branch.members if at < len(self._rows[row])]
        words = Counter(token for row, at in going if is_letters(token := self._rows[row][at]))
        is_slug = len(words) >= self._slug_words
        parts: dict[Piece, list[tuple[int, int]]] = defaultdict(list)
        slug: list[tuple[int, int]] = []
        for row, at in going:
            token = self._rows[row][at]
            if is_slug and self._begins_slug(row, at, words):
                slug.append((row, at))
            elif is_number(token):
                parts[Piece(NUMBER, is_wild=True)].append((row, at + 1))
            else:
                parts[Piece(token)].append((row, at + 1))
        branches = [_Branch((*branch.pieces, piece), members) for piece, members in parts.items()]
        if slug:
            branches.append(self._slug(branch.pieces, slug))
        return branches

    def _begins_slug(self, row: int, at: int, words: Counter[str]) -> bool:
        tokens = self._rows[row]
        if is_letters(tokens[at]):
            return words[tokens[at]] < self._frequent
        after = tokens[at + 1] if at + 1 < len(tokens) else ""
        return is_number(tokens[at]) and bool(after) and self._runs_over(after)

    def _slug(self, pieces: tuple[Piece, ...], members: list[tuple[int, int]]) -> _Branch:
        ends = [(row, self._end(row, at)) for row, at in members]
        signs = Counter(
            sign
            for (row, at), (_, end) in zip(members, ends, strict=True)
            for sign in set(self._rows[row][at:end]) & set(NARROW_SIGNS)
        )
        rare = "".join(sign for sign in NARROW_SIGNS if signs[sign] < max(1, self._frequent / 2))
        return _Branch((*pieces, Piece(f"[^/?&.={rare}]+", is_wild=True)), ends)

    def _end(self, row: int, at: int) -> int:
        tokens = self._rows[row]
        end = at + 1
        while end < len(tokens) and self._runs_over(tokens[end]):
            end += 1
        return end

    @staticmethod
    def _runs_over(token: str) -> bool:
        return is_number(token) or is_letters(token) or token not in SEPARATORS


def literal(text: str) -> str:
    """Return an RE2 expression of one text."""
    return re.sub(r"[\\.^$|?*+()\[\]{}]", lambda found: "\\" + found[0], text)


def url_regex(pieces: Sequence[Piece], orders: Iterable[tuple[str, ...]] = ()) -> str:
    """Return a pattern as an anchored expression of URLs as they are found."""
    cut = next((i for i, piece in enumerate(pieces) if piece.text == "?" and not piece.is_wild), len(pieces))
    path, query = _text(pieces[:cut]), _pairs(pieces[cut + 1 :])
    path = re.sub(r"^https?:", "https?:", path)
    if cut == len(pieces):
        return f"^{_with_slash(path)}$"
    return f"^{path}\\?{_query(query, orders)}$"


def _with_slash(path: str) -> str:
    """Let a path end in a slash or not, but for that of a file and the root."""
    _, _, last = path.removesuffix("/").removesuffix("$").rpartition("/")
    is_root = path.count("/") <= 3 and path.endswith("/")
    is_file = not path.endswith("/") and re.search(rf"\\\.[A-Za-z0-9]{{1,{_MAX_SUFFIX}}}$", last) is not None
    if is_root or path.count("/") < 3 or is_file:
        return path
    return f"{path.removesuffix('/')}/?"


def _text(pieces: Iterable[Piece]) -> str:
    """Return pieces as an expression; an escape fits its character too."""
    text = "".join(piece.text if piece.is_wild else literal(piece.text) for piece in pieces)
    return re.sub(r"%(5B|5D|3A|20|2C|40)", lambda found: f"(?:%{found[1]}|{_ESCAPES[found[1]]})", text)


def _pairs(pieces: Iterable[Piece]) -> dict[str, str]:
    """Return the expression of each query pair by its key as text."""
    pairs: list[list[Piece]] = [[]]
    for piece in pieces:
        if piece.text == "&" and not piece.is_wild:
            pairs.append([])
        else:
            pairs[-1].append(piece)
    return {key_of("".join(piece.text for piece in pair)): _text(pair) for pair in pairs}


def key_of(pair: str) -> str:
    """Return the key of a query pair, escapes undone."""
    return unquote(pair.partition("=")[0])


def _query(pairs: dict[str, str], orders: Iterable[tuple[str, ...]]) -> str:
    fitting = [order for order in dict.fromkeys(orders) if set(order) == set(pairs) and order != tuple(pairs)]
    texts = ["&".join(pairs[key] for key in order) for order in [tuple(pairs), *fitting[: MAX_ORDERS - 1]]]
    return texts[0] if len(texts) == 1 else f"(?:{'|'.join(texts)})"


def tokens_after_host(url: str) -> list[str]:
    """Return the tokens of a URL, scheme and host being the first; a run of escapes is one, as if letters."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return [f"{scheme}://{host}", *_WHOLE_ESCAPES.findall(slash + path)]


def is_number(token: str) -> bool:
    """Say whether a token is a run of digits."""
    return "0" <= token[0] <= "9"


def is_letters(token: str) -> bool:
    """Say whether a token is a run of letters, or of escapes."""
    return token[0].isalpha() or (token[0] == "%" and len(token) > 1)
