"""One incremental tree of URL patterns for a site: arms, learned regexes and behaviour patterns all read it.

A node is a prefix of slots (`url_tokens`: host, path segments, query keys, and one for each query value). A
slot starts with literal values; once it has shown more than `max_values` of them it is a variable, and its
rare values fold into one wildcard child. So ``/tag/kde`` and ``/tag/qt`` are two patterns at first and
``/tag/*`` later.

**Ids stay meaningful.** A node keeps its id for life; a node that folds into a wildcard leaves a forwarding
address, so `resolve` maps every id ever given out to the node that now stands for it. A caller that keeps
statistics by id can move them when it next looks: generalising only ever merges, it never splits the URLs of
one id over several. The one thing that is not merging is promotion: a value that turns out frequent *after*
its slot became a variable (a section that the crawl met late) gets a literal node of its own for URLs to
come; the wildcard's id and all it counted stay as they were.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, pairwise, permutations
from urllib.parse import quote, unquote

from linkscore_scoring.columns import drop_oldest
from linkscore_scoring.state import Stateful, Stored

MAX_SEGMENTS = 12
"""Path segments that are told apart; deeper ones are one slot `REST`. A bound, chosen and not measured."""

MAX_QUERY_KEYS = 8
"""Query keys, in alphabetical order, that are told apart. A bound, chosen and not measured."""

_REMEMBERED = 4_096  # segments, and names and values of queries, a bound: sites repeat them

REST = "/**"
ANY_QUERY = "?*"

_DIGITS = re.compile(r"[0-9]+")
_SHARDS = re.compile(r"/\w/\w(?=/[0-9A-Fa-f]{12})")  # directories named by characters of a hash, before it
_NAMESPACE = re.compile(r"[^\W\d]*[^\W\d_](?=:.)|[^\W\d_]+_(?=.*\.html?\Z)")
_EXTENSION = re.compile(r"(?:\.[A-Za-z#]{1,5}|_)$")

ROOT = 0
"""Id of the root, which stands for every URL."""

# Forwarding addresses kept for each node of the bound; beyond it the oldest go. A bound of memory.
_FORWARDS_PER_NODE = 4


def url_tokens(key: str) -> list[str]:
    """Return the slots of a URL key from coarse to fine, digit runs as ``#``.

    Query keys are sorted and distinct; path segments past 12 become ``/**``, query keys past 8 are left out,
    directories of a character each before a hash are ``/*``. What cannot be split is one slot. O(length).

    Examples
    --------
    >>> url_tokens("http://a.org/x/12/?p=3&q=z")
    ['a.org', '/x', '/#', '/', '?p&q', 'p=#', 'q=z']
    """
    scheme, mark, rest = key.partition("#")[0].partition("://")
    if not mark:
        return [_DIGITS.sub("#", scheme)]
    address, _, query = rest.partition("?")
    host, *parts = _SHARDS.sub("/*/*", address).split("/")
    slots = [host.lower(), *chain.from_iterable(map(_segment_tokens, parts))]
    if len(slots) > 1 + MAX_SEGMENTS:
        slots = [*slots[: 1 + MAX_SEGMENTS], REST]
    if query:
        pairs = dict(map(_query_token, filter(None, query.split("&"))))
        names = sorted(pairs)[:MAX_QUERY_KEYS]
        slots += [f"?{'&'.join(names)}", *map(pairs.__getitem__, names)]
    return slots


def wildcard_of(token: str) -> str:
    """Return the wildcard a literal slot generalises to; it keeps the kind of slot and a file extension."""
    if token.startswith("?"):
        return ANY_QUERY
    if token[:1] in {"/", ":"}:
        extension = _EXTENSION.search(token)
        return f"{token[0]}*{extension.group() if extension else ''}"
    name, equals, _ = token.partition("=")
    return f"{name}=*" if equals else "*"


def is_fixed(token: str) -> bool:
    """Return whether a slot never generalises: it is a wildcard, a bare number, or empty."""
    return token in {"/", "/#", ":#", REST} or token.endswith("=#") or token == wildcard_of(token)


@lru_cache(maxsize=_REMEMBERED)
def _segment_tokens(segment: str) -> tuple[str, ...]:
    """Return a path segment, cut after a namespace: ``/Category``, ``:Ships``; ``/group_``, ``:io.html``."""
    segment = unquote(segment)
    if space := _NAMESPACE.match(segment):
        return f"/{space[0]}", f":{_DIGITS.sub('#', segment[space.end() :].removeprefix(':'))}"
    return (f"/{_DIGITS.sub('#', segment)}",)


@lru_cache(maxsize=_REMEMBERED)
def _query_token(pair: str) -> tuple[str, str]:
    """Return the name of a pair of a query, and the slot of its value."""
    name, value = (_DIGITS.sub("#", unquote(part)) for part in pair.partition("=")[::2])
    return name, f"{name}={value}"


@dataclass(slots=True)
class Node:
    """One slot value: URLs that passed, children by value, and the counters of a variable slot."""

    token: str
    parent: int
    count: int = 0
    children: dict[str, int] = field(default_factory=dict)
    variable: bool = False
    candidates: dict[str, int] = field(default_factory=dict)


# Counters of Misra-Gries for the values of a variable slot: a value that more than one in 33 of its URLs have
# cannot be missed. Chosen, not measured.
_CANDIDATES = 32
# A URL out of the crawl's scope is asked for again and again.
_tokens = lru_cache(maxsize=8_192)(url_tokens)
# Slots have few values, and each is looked at when it is entered and whenever its slot grows.
_wildcard_of, _is_fixed = lru_cache(maxsize=2_048)(wildcard_of), lru_cache(maxsize=2_048)(is_fixed)


@dataclass(frozen=True, slots=True)
class UrlPatternParams:
    """Bounds and thresholds of the tree.

    `max_values`: distinct literal values a slot may show before it becomes a variable. `min_count`,
    `min_share`: A value stays (or becomes) literal in a variable slot with this many URLs and this share of
    the slot's URLs. `max_nodes`: bound of the tree; when it is full, URLs stop at the deepest node there is.
    """

    max_values: int = 8
    min_count: int = 4
    min_share: float = 0.03
    max_nodes: int = 5_000


class UrlPatterns(Stateful):
    """Insert URL keys, ask for the pattern of any URL; every operation is O(slots of the
    URL).

    At most `max_nodes` nodes are kept by id; ids are never used twice, the root is 0. Inserting is amortised:
    folding a slot costs its number of nodes, once. Not from one paper: the tree generalises on line where
    Lei 2010 and Koppula 2010 learn from a batch.

    Examples
    --------
    >>> patterns = UrlPatterns(UrlPatternParams(max_values=4))
    >>> seen = [patterns.insert(f"http://h/tag/{name}") for name in ("kde", "qt", "gtk", "x11", "wayland")]
    >>> len(set(seen)), {patterns.text(patterns.resolve(number)) for number in seen}
    (4, {'h/tag/*'})
    """

    _nodes: Stored[dict[int, Node]]
    _moved: Stored[dict[int, int]]
    _next: Stored[int]

    def __init__(self, params: UrlPatternParams | None = None) -> None:
        self.params = params or UrlPatternParams()
        self._nodes = {ROOT: Node("", -1)}
        self._next = 1

    def __len__(self) -> int:
        return len(self._nodes)

    def insert(self, key: str) -> int:
        """Count a URL key and return the id of its finest pattern; insert each URL once."""
        return self.insert_all([key])[0]

    def insert_all(self, keys: Collection[str]) -> list[int]:
        """Count URL keys and return the finest pattern of each once all are in: together they may form it."""
        nodes, known, found = self._nodes, self._next, []
        for key in keys:
            at = ROOT
            nodes[ROOT].count += 1
            for token in _tokens(key):
                below = nodes[at].children.get(token)
                if below is None and (below := self._enter(at, token)) is None:
                    break
                at, node = below, nodes[below]
                node.count += 1
                if node.token == ANY_QUERY:
                    break
            found.append(at)
        is_as_before = known == self._next and len(nodes) < self.params.max_nodes
        return found if is_as_before else list(map(self.finest, keys))

    def finest(self, key: str) -> int:
        """Return the id of the finest pattern that a URL matches, the root (0) if it is of none; counts
        nothing.
        """
        nodes, at = self._nodes, ROOT
        for token in _tokens(key):
            children = nodes[at].children
            below = children.get(token) or children.get(_wildcard_of(token))
            if below is None:
                break
            at = below
            if nodes[at].token == ANY_QUERY:
                break
        return at

    def text(self, pattern_id: int) -> str:
        """Return the pattern an id stands for now, e.g. ``a.org/tag/*/?page``; of the root nothing."""
        text = " ".join(self.tokens(pattern_id)).replace("_ :", "_")
        return text.replace(" /", "/").replace(" :", ":").replace(" ?", "?")

    def tokens(self, pattern_id: int) -> list[str]:
        """Return the slots of the pattern an id stands for now, the host first; none of the root."""
        return [self._nodes[at].token for at in self.lineage(pattern_id)[-2::-1]]

    def resolve(self, pattern_id: int) -> int:
        """Return the id that now stands for an id given out earlier; the root for a forgotten one."""
        while pattern_id in self._moved:
            pattern_id = self._moved[pattern_id]
        return pattern_id if pattern_id in self._nodes else ROOT

    def lineage(self, pattern_id: int) -> list[int]:
        """Return the pattern an id stands for now and every coarser one, up to the root (0)."""
        nodes, at = self._nodes, self.resolve(pattern_id)
        path = [at]
        while at != ROOT:
            at = nodes[at].parent
            path.append(at)
        return path

    def above(self, pattern_id: int) -> list[int]:
        """Return the patterns that a pattern refines, coarse to fine, without the root and the host."""
        return self.lineage(pattern_id)[-3:0:-1]

    def is_alone(self, pattern_id: int) -> bool:
        """Say whether the wildcards of a pattern stand for all known values of their slots.

        Frequent values, and numbers beside names, have patterns of their own; an expression with a wildcard
        would fit them too.

        Examples
        --------
        >>> patterns = UrlPatterns(UrlPatternParams(max_values=2))
        >>> names = ("a/x", "a/y", "a/z", "b/x", "b/y", "b/z", "b/1")
        >>> ids = [patterns.insert(f"http://h/{name}") for name in names]
        >>> [(patterns.text(one), patterns.is_alone(one)) for one in (ids[0], ids[3])]
        [('h/a/*', True), ('h/b/*', False)]
        """
        nodes = self._nodes
        for at, above in pairwise(self.lineage(pattern_id)):
            token = nodes[at].token
            others = (other for other in nodes[above].children if other not in {token, "/"})
            if "*" in token and any(other[:1] == token[:1] for other in others):
                return False
        return True

    def could_be_one(self, key: str, other: str) -> bool:
        """Say whether two URLs could be of one pattern, however few URLs the tree has seen.

        They could if they have the same slots and differ only where any value may stand: not in their query
        keys, not a number against a name, and not in a variable slot where either value is one of the
        frequent ones. The last name of the path is free of the latter: nothing lies below it, so it is
        frequent by its own variants (``?sort=``, ``?start=``) and no section.
        """
        one, two = _tokens(key), _tokens(other)
        if len(one) != len(two):
            return False
        last = max((i for i, part in enumerate(one) if part[:1] in {"/", ":"} and part != "/"), default=0)
        node: Node | None = self._nodes[ROOT]
        for place, (a, b) in enumerate(zip(one, two, strict=True)):
            if a != b and not _may_differ(None if place == last else node, a, b):
                return False
            children = node.children if node is not None else {}
            at = children.get(a if a == b else _wildcard_of(a), children.get(_wildcard_of(a)))
            node = None if at is None else self._nodes[at]
        return True

    def _enter(self, at: int, token: str) -> int | None:
        """Return the child of `at` for a slot value that has none of its own; None when the tree is full."""
        node = self._nodes[at]
        if _is_fixed(token) or not node.variable:
            made = self._add(at, token)
            if not _is_fixed(token) and len(self._literals(node)) > self.params.max_values:
                self._generalise(at)
                return node.children.get(token, node.children.get(_wildcard_of(token)))
            return made
        if self._promoted(node, token):
            return self._add(at, token)
        wildcard = _wildcard_of(token)
        return node.children[wildcard] if wildcard in node.children else self._add(at, wildcard)

    def _add(self, parent: int, token: str) -> int | None:
        """Return the id of a new child, or None when the tree is full."""
        if len(self._nodes) >= self.params.max_nodes:
            return None
        new, self._next = self._next, self._next + 1
        self._nodes[new] = Node(token, parent)
        self._nodes[parent].children[token] = new
        return new

    def _remove(self, gone: int, kept: int) -> Node:
        """Take a node out, leave `kept` as its forwarding address, and return it."""
        self._moved[gone] = kept
        drop_oldest(self._moved, _FORWARDS_PER_NODE * self.params.max_nodes)
        return self._nodes.pop(gone)

    def _literals(self, node: Node) -> list[str]:
        return [token for token in node.children if not _is_fixed(token)]

    def _is_frequent(self, count: int, slot_count: int) -> bool:
        return count >= max(self.params.min_count, self.params.min_share * slot_count)

    def _promoted(self, node: Node, token: str) -> bool:
        """Count a value of a variable slot (Misra-Gries, 32 counters); True when it has become frequent."""
        seen = node.candidates
        if token in seen or len(seen) < _CANDIDATES:
            seen[token] = seen.get(token, 0) + 1
            if self._is_frequent(seen[token], node.count) and seen[token] >= 2 * self.params.min_count:
                del seen[token]
                return True
        else:
            node.candidates = {value: left - 1 for value, left in seen.items() if left > 1}
        return False

    def _generalise(self, at: int) -> None:
        """Make the slot below `at` a variable: its rare values fold into wildcards, frequent ones stay."""
        node = self._nodes[at]
        node.variable = True
        for token in self._literals(node):
            child = node.children[token]
            if not self._is_frequent(self._nodes[child].count, node.count):
                del node.children[token]
                self._rename_or_merge(child, at, _wildcard_of(token))

    def _rename_or_merge(self, child: int, at: int, wildcard: str) -> None:
        children = self._nodes[at].children
        if wildcard == ANY_QUERY:  # the values of unrelated query keys say nothing together
            below, self._nodes[child].children = list(self._nodes[child].children.values()), {}
            while below:
                below += self._remove(below.pop(), child).children.values()
        if wildcard in children:
            self._merge(child, children[wildcard])
        else:
            self._nodes[child].token = wildcard
            children[wildcard] = child

    def _merge(self, gone: int, kept: int) -> None:
        """Fold the subtree of `gone` into `kept`; both stand for values of the same slot."""
        lost, node = self._remove(gone, kept), self._nodes[kept]
        node.count += lost.count
        for token, child in lost.children.items():
            if token in node.children:
                self._merge(child, node.children[token])
                continue
            self._nodes[child].parent = kept
            if node.variable and not _is_fixed(token):
                self._rename_or_merge(child, kept, _wildcard_of(token))
            else:
                node.children[token] = child
        if not node.variable and len(self._literals(node)) > self.params.max_values:
            self._generalise(kept)


def _may_differ(node: Node | None, a: str, b: str) -> bool:
    """Say whether two values of one slot are two names of the same kind, as far as the tree can tell."""
    if a.startswith("?") or _is_fixed(a) or _is_fixed(b) or _wildcard_of(a) != _wildcard_of(b):
        return False
    return node is None or not node.variable or not (a in node.children or b in node.children)


_MOST_WRITTEN = 3
"""Query keys of a pattern that is written: they may come in any order, so of more there are too many."""
_PLAIN = re.compile(r"[A-Za-z0-9._~-]")


def expression_of(tokens: Sequence[str]) -> str:
    """Return the RE2 expression of the URLs of a pattern, by its slots; empty if it has too many query keys.

    Wildcards fit any value: see `UrlPatterns.is_alone`. One of the path fits no namespace (``Category:``).
    """
    path, query = split_query(tokens)
    if not query:
        return f"{_address(path)}$"
    if query[0] == ANY_QUERY:
        return rf"{_address(path)}\?[^#]*$"
    names = query[0].removeprefix("?").split("&")
    if len(names) > _MOST_WRITTEN:
        return ""
    values = dict(token.partition("=")[::2] for token in query[1:])
    pairs = [_pair(name, values.get(name, "*")) for name in names]
    orders = "|".join("&".join(order) for order in permutations(pairs))
    return rf"{_address(path)}\?{f'(?:{orders})' if pairs[1:] else orders}$"


def with_key(tokens: Sequence[str], key: str) -> str:
    """Return the RE2 expression of the URLs below a path, by its slots, that have a query key in any case."""
    return rf"{_address(split_query(tokens)[0])}\?(?:[^#]*&)?(?i:{_text(key)})(?:[=&]|$)"


def split_query(tokens: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the slots of host and path, and those of the query."""
    at = next((n for n, token in enumerate(tokens) if token.startswith("?")), len(tokens))
    return tokens[:at], tokens[at:]


def _address(tokens: Sequence[str]) -> str:
    starts = ("" if pair[0][-1:] == "_" and pair[1][0] == ":" else pair[1][0] for pair in pairwise(tokens))
    written = (
        "/[^?#]*" if token == REST else f"{start}{_value(token[1:], '/:')}"
        for start, token in zip(starts, tokens[1:], strict=True)
    )
    return f"^https?://{re.escape(tokens[0])}{''.join(written)}"


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
