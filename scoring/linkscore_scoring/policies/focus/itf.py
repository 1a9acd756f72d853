"""Regular expressions of URLs of one type, learned from some of them (ITF regexes, Jiang 2013, section
4.3.2).

Four steps, in the order of this file: `learn_patterns` puts them together; `Refiner` refines ``*`` token by
token while enough URLs fit; `relaxed_pattern` serves URLs that have no pattern with support; `url_regex`
writes a pattern as an RE2 expression.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

import re2

from linkscore_scoring.urls.identity import identity

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

SLUG_SIGNS = "-_%+~"
"""What a slug of the paper runs over, beside letters and digits."""

NARROW_SIGNS = ":;@"
"""Signs a slug leaves out unless the URLs it was learned from have them: ``Category:Ships`` is no article."""

NUMBER, SLUG = r"\d+", "[^/?&.=]+"
"""Wildcards: a run of digits, and the text between two separators."""

_FEW = 5  # URLs below which two must fit, as a share of them would be one; chosen, not measured
_SEEN_ORDERS = 3  # spellings of a URL looked at for orders of its query; a bound
_MAX_SUFFIX = 5  # characters of a file name's suffix; longer ones are part of a slug
_TEXT = "[^/?&=]+"  # of a part that varies, in a pattern without support: dots too
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_TOKEN = re.compile(r"[0-9]+|[^\W\d_]+|.", re.DOTALL)
_WHOLE_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+|[0-9]+|[^\W\d_]+|.", re.DOTALL)
_ESCAPES = {"5B": r"\[", "5D": r"\]", "3A": ":", "20": r"\+", "2C": ",", "40": "@"}
"""Characters that raw URLs have as they are where canonical ones have an escape."""


@dataclass(frozen=True, slots=True)
class LearnedPattern:
    """One learned pattern.

    Attributes
    ----------
    regex
        RE2 expression, anchored at both ends.
    matches, total
        Distinct training URLs that fit, of how many.
    confident
        The pattern has the support it needs; else it is the most frequent shape, for want of better.
    example
        The first training URL that fits.
    """

    regex: str
    matches: int
    total: int
    confident: bool
    example: str = ""


def learn_patterns(
    urls: Iterable[str], *, share: float = SHARE, d_min: int = D_MIN, paper: bool = False
) -> list[LearnedPattern]:
    """Return what URLs of one type have in common, best supported pattern first.

    From ``*``, patterns are refined token by token as long as more than `share` of all training URLs fit: a
    run of digits becomes ``\\d+``; words of which a slot has fewer than `d_min` branch; else frequent words
    branch, and all others are one slug. A pattern whose URLs another one fits too is dropped.

    Parameters
    ----------
    urls
        Training URLs, as found on pages. If they are of several link groups, use `learn_from_groups`: the
        share is one of a group.
    share
        Support of a pattern, strictly more than this share of the URLs, in (0, 1). Of fewer than five URLs at
        least two must fit.
    d_min
        Distinct words that make a slot a slug, >= 2.
    paper
        Keep to the specification; see Notes.

    Returns
    -------
    list of LearnedPattern
        Empty without URLs. If no pattern has support, the most frequent shape, not `confident`.

    Notes
    -----
    Cost O(characters) to refine, O(patterns x URLs) to count. At most `MAX_URLS` URLs are looked at.

    Differences from the paper, unless `paper`: http and https are one; a slash at the end of a path may be
    missing; the query fits in the sorted order and in every order seen; a slug may begin with a digit or an
    escape, takes in every sign but separators, and leaves out signs such as the colon that few of its URLs
    have, so that ``Category:Ships`` is no article.

    Examples
    --------
    Four of six URLs share a form; the other two have no support:

    >>> ids = ("about20152", "about18382", "about19741", "about20142", "user-34", "post-180803")
    >>> [found] = learn_patterns(f"http://www.gardenstew.com/{name}.html" for name in ids)
    >>> found.regex, found.matches, found.total
    ('^https?://www\\\\.gardenstew\\\\.com/about\\\\d+\\\\.html$', 4, 6)

    References
    ----------
    Jiang, Song, Yu, Lin, "FoCUS: learning to crawl web forums", TKDE 25(6), 2013, section 4.3.2; after
    Koppula et al., "Learning URL patterns for webpage de-duplication", WSDM 2010.
    """
    raw: dict[str, list[str]] = {}
    for url in urls:
        known = raw.setdefault(sorted_query(url) if paper else _identity(url), [])
        known.append(url)
        if len(raw) >= MAX_URLS:
            break
    if not raw:
        return []
    least = 2 if len(raw) < _FEW else 1
    found = Refiner(list(raw), share=share, least=least, d_min=d_min, paper=paper).patterns()
    pieces = found or [relaxed_pattern(list(raw))]
    learned = [
        _counted(paper_regex(p) if paper else url_regex(p, _orders(p, raw)), raw, bool(found)) for p in pieces
    ]
    return _without_subsumed(learned, list(raw))


def learn_from_groups(
    groups: Iterable[Sequence[str]], *, share: float = SHARE, d_min: int = D_MIN
) -> list[LearnedPattern]:
    """Return what the URLs of link groups have in common, each group learned by itself.

    The share a pattern needs is one of its group, so that a small group beside a large one keeps its pattern.
    Counts are over the URLs of all groups. Patterns without support are dropped if any has it.
    """
    all_urls: list[str] = []
    found: dict[str, bool] = {}
    for group in groups:
        all_urls += group
        for pattern in learn_patterns(group, share=share, d_min=d_min):
            found[pattern.regex] = found.get(pattern.regex, False) or pattern.confident
    raw = {_identity(url): [url] for url in all_urls}
    kept = [regex for regex, confident in found.items() if confident] or list(found)
    learned = [_counted(regex, raw, found[regex]) for regex in kept]
    return _without_subsumed(learned, list(raw))


def _identity(url: str) -> str:
    try:
        return identity(url)
    except ValueError:
        return url


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
    """Finds the patterns of training URLs.

    Parameters
    ----------
    urls
        Distinct training URLs of one type, query sorted.
    share
        A pattern needs more than this share of all URLs, in (0, 1); at least `least` of them.
    least
        As above.
    d_min
        From so many distinct words in one slot on, the slot is a slug.
    paper
        Refine by the letter of the specification: a slug begins with a letter and runs over letters, digits
        and ``-_%+~``. Else it also begins with a digit, and runs to the next separator, and the
        host is one token.
    """

    def __init__(self, urls: Sequence[str], *, share: float, least: int, d_min: int, paper: bool) -> None:
        self._rows = [tokens_of(url) if paper else tokens_after_host(url) for url in urls]
        self._least = max(least - 1, share * len(urls))
        self._frequent = share * len(urls)
        self._d_min, self._paper = d_min, paper

    def patterns(self) -> list[tuple[Piece, ...]]:
        """Return the patterns with support, in order of refinement. Cost O(characters)."""
        found: list[tuple[Piece, ...]] = []
        branches = [_Branch((), [(row, 0) for row in range(len(self._rows))])]
        while branches:
            branch = branches.pop()
            if len(branch.members) <= self._least:
                continue
            ended = [row for row, at in branch.members if at == len(self._rows[row])]
            if len(ended) > self._least:
                found.append(branch.pieces)
            branches += reversed(self._refined(branch))
        return found

    def _refined(self, branch: _Branch) -> list[_Branch]:
        """Return the branches of one slot, the slug last."""
        going = [(row, at) for row, at in branch.members if at < len(self._rows[row])]
        words = Counter(token for row, at in going if is_letters(token := self._rows[row][at]))
        is_slug = len(words) >= self._d_min
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
        if self._paper:
            return False
        after = tokens[at + 1] if at + 1 < len(tokens) else ""
        return is_number(tokens[at]) and bool(after) and self._runs_over(after)

    def _slug(self, pieces: tuple[Piece, ...], members: list[tuple[int, int]]) -> _Branch:
        ends = [(row, self._end(row, at)) for row, at in members]
        if self._paper:
            return _Branch((*pieces, Piece(SLUG, is_wild=True)), ends)
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

    def _runs_over(self, token: str) -> bool:
        if is_number(token) or is_letters(token):
            return True
        return token in SLUG_SIGNS if self._paper else token not in SEPARATORS


def relaxed_pattern(urls: Sequence[str]) -> tuple[Piece, ...]:
    """Return the pattern of the most frequent shape of URLs, at least one; ties to the first.

    Two URLs have one shape if they agree in scheme, number of path segments and query keys. A part that
    varies becomes a wildcard, of digits if all its values are; a number is always one. Cost O(characters).
    """
    parts = [_url_parts(url) for url in urls]
    shapes = Counter(map(_shape, parts))
    best = max(shapes, key=lambda shape: shapes[shape])
    alike = [row for row in parts if _shape(row) == best]
    pieces: list[Piece] = []
    for column in zip(*alike, strict=True):
        pieces += _column(column)
    return tuple(pieces)


def _url_parts(url: str) -> list[str]:
    """Return the path segments, keys and values of a URL with what separates them."""
    parts = [""]
    for piece in tokens_after_host(url):
        if piece in "/?&=":
            parts += [piece, ""]
        else:
            parts[-1] += piece
    return parts


def _shape(parts: list[str]) -> tuple[str, ...]:
    in_query = False
    shape = list[str]()
    for at, part in enumerate(parts):
        in_query |= part == "?"
        is_key = in_query and at + 1 < len(parts) and parts[at + 1] == "="
        shape.append(part if part in ("/", "?", "&", "=") or is_key or at < 1 else bool(part) * "x")
    return tuple(shape)


def _column(values: Sequence[str]) -> list[Piece]:
    if all(value == values[0] for value in values):
        tokens = [values[0]] if "://" in values[0] else tokens_of(values[0])
        return [Piece(NUMBER, is_wild=True) if is_number(token) else Piece(token) for token in tokens]
    if all(value.isdecimal() for value in values):
        return [Piece(NUMBER, is_wild=True)]
    if all("." in value for value in values) and len({value.rpartition(".")[2] for value in values}) == 1:
        return [Piece("[^/?&.=]+", is_wild=True), Piece("."), Piece(values[0].rpartition(".")[2])]
    return [Piece(_TEXT, is_wild=True)]


def literal(text: str) -> str:
    """Return an RE2 expression of one text."""
    return re.sub(r"[\\.^$|?*+()\[\]{}]", lambda found: "\\" + found[0], text)


def paper_regex(pieces: Iterable[Piece]) -> str:
    """Return a pattern as one anchored expression, nothing else allowed."""
    return f"^{''.join(piece.text if piece.is_wild else literal(piece.text) for piece in pieces)}$"


def url_regex(pieces: Sequence[Piece], orders: Iterable[tuple[str, ...]] = ()) -> str:
    """Return a pattern as an anchored expression of URLs as they are found.

    http and https both fit; a slash at the end of a path without file name may be there or not; the query may
    stand in any order of `orders`, each a tuple of its keys, or else sorted; escapes may be written out.
    """
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


def tokens_of(url: str) -> list[str]:
    """Return the maximal runs of digits and of letters of a URL, and every other character by itself."""
    return _TOKEN.findall(url)


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


def sorted_query(url: str) -> str:
    """Return a URL with its query pairs in order, nothing else changed."""
    address, mark, query = url.partition("?")
    return address + mark + "&".join(sorted(query.split("&")))
