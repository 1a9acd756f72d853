"""Learning of URL patterns from URLs of one type (Jiang 2013, section 4.3.2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linkscore_scoring.policies.focus.itf.express import key_of, paper_regex, url_regex
from linkscore_scoring.policies.focus.itf.refine import Piece, Refiner
from linkscore_scoring.policies.focus.itf.relax import relaxed_pattern
from linkscore_scoring.policies.focus.itf.tokens import sorted_query
from linkscore_scoring.urls.identity import identity

MAX_URLS = 2_000
"""Training URLs looked at, the first ones."""

_FEW = 5


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
    urls: Iterable[str], *, share: float = 0.2, d_min: int = 5, paper: bool = False
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
    groups: Iterable[Sequence[str]], *, share: float = 0.2, d_min: int = 5
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
        for url in urls[:3]:
            query = url.partition("?")[2]
            seen[tuple(map(key_of, query.split("&")))] = None
    return list(seen)


def _counted(regex: str, raw: dict[str, list[str]], confident: bool) -> LearnedPattern:
    compiled = re.compile(regex)
    fitting = [key for key in raw if compiled.match(key)]
    return LearnedPattern(regex, len(fitting), len(raw), confident, raw[fitting[0]][0] if fitting else "")


def _without_subsumed(learned: Iterable[LearnedPattern], keys: Sequence[str]) -> list[LearnedPattern]:
    """Return patterns by support, without those whose URLs one before them fits too."""
    kept: list[tuple[LearnedPattern, set[str]]] = []
    for pattern in sorted(learned, key=lambda p: (-p.confident, -p.matches, len(p.regex))):
        compiled = re.compile(pattern.regex)
        fitting = {key for key in keys if compiled.match(key)}
        if fitting and not any(fitting <= other for _, other in kept):
            kept.append((pattern, fitting))
    return [pattern for pattern, _ in kept]
