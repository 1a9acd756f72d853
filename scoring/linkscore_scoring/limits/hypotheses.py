"""Which links lead to copies, judged by fetched pages: query keys that change nothing (sessions, orders), and
URL patterns whose pages copy those of others (print views, permalinks).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from urllib.parse import quote

from linkscore_scoring.columns import drop_oldest
from linkscore_scoring.hashing import hash_of
from linkscore_scoring.pagination.page_links import PAGE_KEYS
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.urls.identity import host_of
from linkscore_scoring.urls.pattern_tree import ANY_QUERY, REST

_Z = 1.2816
"""Standard deviations of the bound: it is passed wrongly in one case of ten. Chosen."""
_SPOKEN = 64
"""Contents remembered that have spoken, a bound. Beyond it an old one may speak once more."""
_FIRST_CHECK, _CHECK_GROWTH = 1.0, 1.5
"""Links withheld until one is let through to look again, and by how much more after each. Chosen: of 2,000
links the first is, and 1 % of all."""


def lower_bound(tries: float, agreed: float) -> float:
    """Return the lower end of Wilson's interval for a share (1927), of one side and 90 %; 0 if none agreed.

    Examples
    --------
    >>> [round(lower_bound(n, n), 2) for n in (0, 3, 7, 15, 150)]
    [0.0, 0.65, 0.81, 0.9, 0.99]
    >>> round(lower_bound(16, 15), 2)
    0.81
    """
    if not agreed:  # exactly: what rounding leaves of the formula is above 0
        return 0.0
    share, square = agreed / tries, _Z * _Z
    spread = _Z * math.sqrt(share * (1.0 - share) / tries + square / (4.0 * tries * tries))
    return max(0.0, (share + square / (2.0 * tries) - spread) / (1.0 + square / tries))


@dataclass(slots=True)
class Evidence:
    """Tries of a hypothesis.

    A content speaks once: pages that all show the same (errors, log-in pages, shells of scripts) are one try.

    `tries`, `agreed`: contents that could have refuted it, and those that did not. `spoken`: the contents,
    latest last. `withheld`: links withheld by it. `check_at`: how many of these before one is let through.
    `let_through`: identity hash of a link that is fetched to look again; 0 if none is to be. `originals`:
    URL patterns whose pages were the originals; none where a query key explains the copy.
    """

    tries: int = 0
    agreed: int = 0
    spoken: list[int] = field(default_factory=list)
    withheld: int = 0
    check_at: float = _FIRST_CHECK
    let_through: int = 0
    originals: Counter[int] = field(default_factory=Counter)

    @property
    def probability(self) -> float:
        """The lower bound of the share of copies."""
        return lower_bound(self.tries, self.agreed)

    def speak(self, content: int, *, agrees: bool) -> bool:
        """Count a content if it has not spoken yet; say whether it was counted."""
        if content in self.spoken:
            return False
        self.spoken.append(content)
        del self.spoken[:-_SPOKEN]
        self.tries += 1
        self.agreed += agrees
        return True

    def withhold(self, link: int) -> None:
        """Count a link that is withheld; now and then it is let through instead."""
        self.withheld += 1
        if self.withheld >= self.check_at:
            self.check_at *= _CHECK_GROWTH
            self.let_through = link

    def absorb(self, other: Evidence) -> None:
        """Take over what speaks for and against a hypothesis that has become one with this."""
        self.tries += other.tries
        self.agreed += other.agreed
        self.spoken = [*other.spoken, *self.spoken][-_SPOKEN:]
        self.withheld += other.withheld
        self.check_at = max(self.check_at, other.check_at)
        self.let_through = self.let_through or other.let_through
        self.originals.update(other.originals)


_MOST_KEYS = 3
"""Query keys of a pattern that is written: they may come in any order, so of more there are too many."""
_PLAIN = re.compile(r"[A-Za-z0-9._~-]")


def expression_of(tokens: Sequence[str]) -> str:
    """Return the RE2 expression of the URLs of a pattern, by its slots; empty if it has too many query keys.

    Wildcards fit any value: see `UrlPatterns.is_alone`. One of the path fits no namespace (``Category:``).
    """
    path, query = _split(tokens)
    if not query:
        return f"{_address(path)}$"
    if query[0] == ANY_QUERY:
        return rf"{_address(path)}\?[^#]*$"
    names = query[0].removeprefix("?").split("&")
    if len(names) > _MOST_KEYS:
        return ""
    values = dict(token.partition("=")[::2] for token in query[1:])
    pairs = [_pair(name, values.get(name, "*")) for name in names]
    orders = "|".join("&".join(order) for order in permutations(pairs))
    return rf"{_address(path)}\?{f'(?:{orders})' if pairs[1:] else orders}$"


def with_key(tokens: Sequence[str], key: str) -> str:
    """Return the RE2 expression of the URLs below a path, by its slots, that have a query key in any case."""
    path, _ = _split(tokens)
    return rf"{_address(path)}\?(?:[^#]*&)?(?i:{_text(key)})(?:[=&]|$)"


def _split(tokens: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the slots of host and path, and those of the query."""
    at = next((n for n, token in enumerate(tokens) if token.startswith("?")), len(tokens))
    return tokens[:at], tokens[at:]


def _address(tokens: Sequence[str]) -> str:
    host, *segments = tokens
    written = (
        "/[^?#]*" if token == REST else f"{_text(token[0])}{_value(token[1:], '/:')}" for token in segments
    )
    return f"^https?://{re.escape(host)}{''.join(written)}"


def _pair(name: str, value: str) -> str:
    """Return what fits a query key with a value; one without may be without its sign too."""
    return f"{_text(name)}={_value(value, '&')}" if value else f"{_text(name)}=?"


def _value(text: str, ends: str) -> str:
    """Return what fits a slot: ``*`` is anything without the characters that end it, ``#`` digits."""
    if text.startswith("*"):
        return f"[^{ends}?#]+{_text(text[1:])}"
    return "[0-9]+".join(map(_text, text.split("#")))


def _text(text: str) -> str:
    """Return what fits a text as it is or percent-encoded."""
    return "".join(char if _PLAIN.fullmatch(char) and char != "." else _odd(char) for char in text)


def _odd(char: str) -> str:
    encoded = quote(char, safe="")
    forms = dict.fromkeys((re.escape(char), encoded, encoded.lower()))
    return re.escape(char) if char in "./:" else f"(?:{'|'.join(forms)})"


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

    _evidence: Stored[dict[Hypothesis, Evidence]]
    _hosts: Stored[dict[int, str]]
    _bases: Stored[dict[int, dict[str, int]]]
    _firsts: Stored[dict[int, int]]
    _pending: Stored[dict[int, list[tuple[int, int]]]]

    def __init__(self) -> None:
        self._evidence = {}
        self._hosts = {}
        self._bases = {}
        self._firsts = {}
        self._pending = {}
        self._pooled: Counter[tuple[str, str, bool]] = Counter()

    def after_load(self) -> None:
        """Put together again what is known of each key."""
        self._pool()

    def __bool__(self) -> bool:
        return bool(self._evidence)

    def told(self) -> Iterator[tuple[Hypothesis, Evidence, float]]:
        """Yield each hypothesis, what speaks for it, and how probable a link by it leads to a copy."""
        for hypothesis, evidence in self._evidence.items():
            yield hypothesis, evidence, self.probability(*hypothesis)

    def evidence(self, pattern: int, key: str = "") -> Evidence | None:
        """Return what speaks for a hypothesis; None if there are no tries."""
        return self._evidence.get((pattern, key))

    def probability(self, pattern: int, key: str = "") -> float:
        """Return how probable a link by a hypothesis leads to a copy: a lower bound, 0 if nothing is known.

        Of two patterns that copy each other one has the originals: the one that is less sure to be copies.
        """
        own = self._evidence.get((pattern, key))
        if own is None:
            return 0.0
        if key:
            if not own.agreed == own.tries >= _LEAST_OWN:
                return own.probability
            agreed, refuted = (self._pooled[self._hosts[pattern], key, agrees] for agrees in (True, False))
            return max(own.probability, lower_bound(agreed + refuted, agreed))
        if not own.originals:
            return 0.0
        original = max(own.originals, key=lambda other: (own.originals[other], -other))
        back = self._evidence.get((original, ""))
        is_copied = back is not None and back.originals[pattern] and back.probability >= own.probability
        return 0.0 if is_copied else own.probability

    def try_keys(self, path: int, url: str, page: int, content: int, content_of: ContentOf) -> None:
        """Learn from a page.

        `path`: URL pattern of the path of its URL. `url`, `page`: the identity it was asked for by, and the
        hash of that. `content`: its content.
        """
        self._hosts[path] = host_of(url)
        for key, shown in self._bases.get(page, {}).items():
            self._try((path, key), content, agrees=content == shown)
        for key in keys_of(url):
            base = hash_of(without(url, {key}))
            known, plain = self._bases.setdefault(base, {}), content_of(base)
            other = known.get(key) if plain is None else plain
            known.setdefault(key, content)
            if other is not None:
                self._try((path, key), content, agrees=content == other)
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

    def void(self, path: int, url: str, least: float) -> dict[str, float]:
        """Return the query keys of a URL that are void with a probability of `least`, with that."""
        return {key: p for key in keys_of(url) if (p := self.probability(path, key)) >= least}

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
        names: int | None,
        is_found_without: Callable[[int, int], bool],
    ) -> None:
        """Learn from a page that shows a content, the first of its pattern that does.

        `pattern`, `page`: of its URL: pattern, and identity hash. `number`, `shown`: the content, and the
        first page that showed it by pattern. `names`: identity hash of the original that it names, its own
        if it names itself, None if none. `is_found_without`: says of a page by identity hash whether it was
        found without links on pages of a pattern.
        """
        named = self._pending.pop(page, [])
        for other, content in named:
            if other != pattern:
                is_copy = content == number and is_found_without(page, other)
                self._try((other, ""), content, agrees=is_copy, original=pattern)
        if pattern in shown:
            return
        originals = [other for other, first in shown.items() if is_found_without(first, pattern)]
        if names == page or named:
            self._try((pattern, ""), number, agrees=False)
        elif originals:
            self._try((pattern, ""), number, agrees=True, original=originals[0])
        elif names is None:
            self._try((pattern, ""), number, agrees=False)
        else:
            self._pending.setdefault(names, []).append((pattern, number))
            drop_oldest(self._pending, _MAX_PENDING)
        shown[pattern] = page

    def redirected(self, pattern: int, final: int, to: int, *, found: bool) -> None:
        """Learn from a URL of a pattern that redirected to a page of another: `found` without it or not."""
        if pattern != to:
            self._try((pattern, ""), final, agrees=found, original=to)

    def fetched(self, link: int, *, failed: bool) -> None:
        """Take note that a link was fetched; one that failed is not the first of its kind."""
        for evidence in self._evidence.values():
            if evidence.let_through == link:
                evidence.let_through = 0
        if failed:
            self._firsts = {base: first for base, first in self._firsts.items() if first != link}

    def settle(self, resolve: Callable[[int], int]) -> None:
        """Let hypotheses about URL patterns that have become one become one too."""
        for pattern, key in [known for known in self._evidence if resolve(known[0]) != known[0]]:
            moved = self._evidence.pop((pattern, key))
            self._evidence.setdefault((resolve(pattern), key), Evidence()).absorb(moved)
            if key:
                self._hosts.setdefault(resolve(pattern), self._hosts[pattern])
        for evidence in self._evidence.values():
            for original in [known for known in evidence.originals if resolve(known) != known]:
                evidence.originals[resolve(original)] += evidence.originals.pop(original)
        paths = {path for path, key in self._evidence if key}
        self._hosts = {path: host for path, host in self._hosts.items() if path in paths}
        self._pool()

    def _try(
        self, hypothesis: Hypothesis, content: int, *, agrees: bool, original: int | None = None
    ) -> None:
        """Count a try; a content that agrees speaks once, and once more where it does not."""
        if hypothesis not in self._evidence and len(self._evidence) >= _MAX_HYPOTHESES:
            return
        evidence = self._evidence.setdefault(hypothesis, Evidence())
        if not evidence.speak(content if agrees else -content, agrees=agrees):
            return
        path, key = hypothesis
        if key:
            self._pooled[self._hosts[path], key, agrees] += 1
        elif agrees and original is not None:
            evidence.originals[original] += 1

    def _pool(self) -> None:
        """Put together what is known of each key on each host, whatever path it stands below."""
        self._pooled.clear()
        for (path, key), evidence in self._evidence.items():
            if key:
                self._pooled[self._hosts[path], key, True] += evidence.agreed
                self._pooled[self._hosts[path], key, False] += evidence.tries - evidence.agreed


def without(url: str, keys: set[str]) -> str:
    """Return a URL identity without some query keys, in lower case; still an identity."""
    address, _, query = url.partition("?")
    kept = "&".join(pair for pair in query.split("&") if pair.partition("=")[0].lower() not in keys)
    return f"{address}?{kept}" if kept else address


def keys_of(url: str) -> list[str]:
    """Return the first query keys of a URL that may be void, in lower case."""
    query = url.partition("?")[2]
    if not query:
        return []
    names = dict.fromkeys(pair.partition("=")[0].lower() for pair in query.split("&"))
    return [name for name in names if name and name not in PAGE_KEYS][:_MAX_KEYS]
