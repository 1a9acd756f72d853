"""One walk over the serialised tags and texts of a page: displayed leaves, text blocks and anchors."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from itertools import accumulate, pairwise

from linkscore_scoring.features.types import Limits, PathTrie

SKIPPED_TAGS = ("script", "style", "noscript", "noframes", "noembed", "template", "head")
# Elements whose text runs on in the line; around others a reader sees a break.
_INLINE = frozenset(
    [
        *("a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "font", "i", "kbd", "mark", "q", "s", "samp"),
        *("small", "span", "strong", "sub", "sup", "time", "tt", "u", "var"),
    ]
)
MAX_NAME_CHARS = 40
"""Characters kept of an element name: none of HTML is longer; bounds what a page can put into paths."""

MAX_CLASS_CHARS = 1_000
"""Characters read of a class attribute, up to the last whole token; the longest of 400 stored pages has 399.
All that is kept of a site names classes, so this bounds its memory in bytes."""

MAX_LINK_PATH_CHARS = 2_000
"""Characters of a link path; a longer one is one of the others. The longest of 400 stored pages has 194."""

# Characters kept of ``rel`` and ``alt``: all tokens of HTML that links may have are 150 characters together,
# and of an anchor's text 200 are kept unless told otherwise. Bounds, chosen and not measured.
MAX_REL_CHARS, MAX_ALT_CHARS = 200, 2_000
# Characters of a tag that count as one entry of `TagTable`; usual ones have fewer.
_ENTRY_CHARS = 400
# In serialised XML a value holds no quote, and a name no blank and "=" only in front: read one after the
# other from the first blank on, attributes are not mistaken for what looks like one inside a value.
_ATTRIBUTE = re.compile(r' (=?[^ =]*)="([^"]*)"')
_TAG = re.compile(r"<[^>]*>")
_CONTROL = "&#xFFFD;"
"""A control character, as libxml2 serialises it: the URL standard strips it from links, as a blank."""
_unescape = lru_cache(maxsize=256)(unescape)
_NUMBERED = re.compile(r"&#x?[0-9A-F]+;", re.IGNORECASE)


class Step:
    """One step of a tag path: element name and class tokens. Equal steps of a `TagTable` are one object."""

    __slots__ = ("classes", "inline", "name", "size")

    def __init__(self, name: str, classes: str) -> None:
        self.name = name[:MAX_NAME_CHARS]
        self.classes = classes
        self.inline = name in _INLINE
        self.size = len(self.name) + len(classes)


@dataclass(frozen=True, slots=True, eq=False)
class Special:
    """A tag that counts each time it is met: ``img``, or ``a``, ``area`` or a frame that leads somewhere."""

    step: Step
    href: str
    rel: str
    alt: str
    is_leaf: bool
    is_link: bool
    empty: bool


_TARGETS = {"a": "href", "area": "href", "frame": "src", "iframe": "src"}
"""Attributes that make elements links."""

TEXT = Step("text()", "")
END = Step("/", "")
"""Any end tag."""
VOID = Step("", "")
"""Any element without content that is no leaf."""


class TagTable:
    """What the insides of tags (``div class="post"``, ``/div``, ``br/``) mean, remembered across pages.

    Pages of a site repeat their tags, so most tags of a page are one dictionary look-up.

    `steps`: meaning of the tags that only change the place: a `Step` to go down, `END` or `VOID`.
    `specials`: meaning of the tags that are leaves or links. `paths`: all element paths met so far.
    """

    def __init__(self, limits: Limits) -> None:
        self.paths = PathTree(limits)
        self.steps: dict[str, Step] = {}
        self.specials: dict[str, Special] = {}
        self._interned: dict[tuple[str, str], Step] = {}
        self._chars = 0

    def __len__(self) -> int:
        """Return the number of entries, where `_ENTRY_CHARS` of tags and link paths count as one more."""
        tags = len(self.steps) + len(self.specials) + len(self._interned)
        return tags + len(self.paths.parents) + (self._chars + self.paths.chars) // _ENTRY_CHARS

    def learn(self, raw: str) -> Step | Special:
        """Read a tag that is not in the table yet, and remember it."""
        self._chars += len(raw)
        special = self._special(raw) if raw.startswith(("a ", "area ", "img", "frame ", "iframe ")) else None
        if special is not None:
            self.specials[raw] = special
            return special
        step = self.steps[raw] = self._step(raw)
        return step

    def _step(self, raw: str) -> Step:
        if raw[:1] == "/":
            return END
        if raw[-1:] == "/":
            return VOID
        return self._intern(tag_name(raw), class_tokens(attribute_of(raw, "class")))

    def _special(self, raw: str) -> Special | None:
        name, found = tag_name(raw), attributes_of(raw)
        href = found.get(_TARGETS.get(name, ""))
        if name != "img" and href is None:
            return None
        text = found.get("title" if name in {"frame", "iframe"} else "alt", "") if name != "a" else ""
        return Special(
            step=self._intern(name, class_tokens(found.get("class", ""))),
            href=href or "",
            rel=rel_tokens(found.get("rel", "")) if name in {"a", "area"} else "",
            alt=" ".join(text[:MAX_ALT_CHARS].split()),
            is_leaf=name in {"a", "img"},
            is_link=name != "img",
            empty=raw[-1] == "/",
        )

    def _intern(self, name: str, classes: str) -> Step:
        key = (name, classes)
        found = self._interned.get(key)
        if found is None:
            found = self._interned[key] = Step(name, classes)
        return found


def attributes_of(raw: str) -> dict[str, str]:
    """Return the attributes of the inside of a start tag like ``a href="x" class="y"``."""
    found = _ATTRIBUTE.findall(raw.replace(_CONTROL, " "))
    if "&" in raw:
        return {name: unescaped(value) for name, value in found}
    return dict(found)


def attribute_of(raw: str, name: str) -> str:
    """Return one attribute of the inside of a start tag, empty if there is none."""
    return attributes_of(raw).get(name, "") if f' {name}="' in raw else ""


def unescaped(text: str) -> str:
    """Return ``html.unescape(text)`` of a text as libxml2 serialises it, at a fiftieth of its cost.

    Such a text has escapes of ``<``, ``>``, ``&`` and the double quote, and of some controls by number.

    Examples
    --------
    >>> unescaped("a &amp;lt; b &#9;")
    'a &lt; b \\t'
    """
    if "&" not in text:
        return text
    while found := _NUMBERED.search(text):  # few different ones, however long the text
        text = text.replace(found[0], _unescape(found[0]))
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"')
    return text.replace("&amp;", "&")


def class_tokens(value: str) -> str:
    """Return a class attribute as `PathTrie.classes` has it: distinct tokens, sorted, joined by one space.

    Of one longer than `MAX_CLASS_CHARS` the tokens that end before that.
    """
    if len(value) > MAX_CLASS_CHARS:
        is_cut = not value[MAX_CLASS_CHARS - 1].isspace() and not value[MAX_CLASS_CHARS].isspace()
        tokens = value[:MAX_CLASS_CHARS].split()
        value = " ".join(tokens[:-1] if is_cut else tokens)
    if not value or value.isalnum():
        return value
    return " ".join(sorted(set(value.split())))


def rel_tokens(value: str) -> str:
    """Return a ``rel`` attribute as `Links.rels` has it: lower case tokens joined by one space."""
    return " ".join(value[:MAX_REL_CHARS].lower().split())


def tag_name(raw: str) -> str:
    """Return the element name of the inside of a start tag."""
    return raw.partition(" ")[0].rstrip("/")


def mend(markup: str) -> str:
    """Replace every ``<`` inside a tag by ``_``: HTML allows it in names, but here it begins a tag."""
    return _TAG.sub(lambda tag: "<" + tag[0][1:].replace("<", "_"), markup)


MAX_PATH_CHARS = 500_000
"""Characters of names and classes in the tag paths of one page: what is kept of it has bounds in bytes. The
classes of the largest of 400 stored pages have 23,700; chosen so that pages of 20,000 usual nodes fit."""


class PathTree:
    """Element paths of all pages so far, as they are met; node 0 is the place outside the root element.

    `parents`, `steps`: parent node and last step of each node. `children`: nodes below each node, by step.
    `tops`: the node itself, or the deepest one around it within `Limits.depth`. `chars`: of its link paths.
    """

    def __init__(self, limits: Limits) -> None:
        self.parents = [0]
        self.steps = [TEXT]
        self.children: list[dict[Step, int]] = [{}]
        self.tops = [0]
        self._depths = [0]
        self._has_deep = False
        self.chars = 0
        self._limits = limits
        self._link_paths: dict[int, str | None] = {}

    def grow(self, node: int, step: Step) -> int:
        """Add the node one step below `node`."""
        new = self.children[node][step] = len(self.parents)
        self.parents.append(node)
        self.steps.append(step)
        self.children.append({})
        self._depths.append(self._depths[node] + 1)
        is_deep = self._depths[new] > self._limits.depth
        self._has_deep |= is_deep
        self.tops.append(self.tops[node] if is_deep else new)
        return new

    def link_path(self, node: int) -> str | None:
        """Return the raw link path of an anchor: element names from the root, and the classes of the last;
        None if it is too long to be told from others.

        Of nesting deeper than `Limits.depth` the outermost elements and the anchor are named.
        """
        if node not in self._link_paths:
            names, at = list[str](), self.tops[self.parents[node]]
            while at:
                names.append(self.steps[at].name)
                at = self.parents[at]
            around = [*names[::-1][: self._limits.depth - 1], self.steps[node].name]
            text = f"{'/'.join(around)}[{self.steps[node].classes}]"
            self._link_paths[node] = text if len(text) <= MAX_LINK_PATH_CHARS else None
            self.chars += len(self._link_paths[node] or "")
        return self._link_paths[node]

    def trie(self, displayed: Iterable[int]) -> tuple[PathTrie, list[str]]:
        """Return the paths of the displayed leaves of a page, and if ``depth_cut``, ``paths_cut`` applied.

        `displayed`: ``~node`` of each text, right below a node, and the node of each other leaf.
        """
        counts, cuts = Counter(displayed), list[str]()
        if self._has_deep:
            within = Counter[int]()
            for row, n in counts.items():
                node = max(row, ~row)
                within[row if self.tops[node] == node else ~self.tops[node]] += n
            cuts += ["depth_cut"] if within != counts else []
            counts = within
        rows = self._rows(counts)
        steps = [self.steps[row] if row > 0 else TEXT for row in rows]
        most = bisect_right(list(accumulate(step.size for step in steps)), MAX_PATH_CHARS)
        most = min(most, self._limits.path_nodes)
        cuts += ["paths_cut"] if most < len(rows) else []
        places = {row: place for place, row in enumerate(rows)}
        parents = [places.get(self.parents[row] if row > 0 else ~row, -1) for row in rows[:most]]
        names, classes = [step.name for step in steps[:most]], [step.classes for step in steps[:most]]
        return PathTrie(parents, names, classes, [counts[row] for row in rows[:most]]), cuts

    def _rows(self, counts: Iterable[int]) -> list[int]:
        """Return the rows of leaves in their order, each behind the nodes around it that are new."""
        parents, rows, known = self.parents, list[int](), {0}
        for row in counts:
            at, above = max(row, ~row), list[int]()
            while at not in known:
                known.add(at)
                above.append(at)
                at = parents[at]
            rows += above[::-1]
            if row < 0:
                rows.append(row)
        return rows


BLOCK_CHARS = 25
"""Length from which a text outside anchors counts as a long block ; chosen, and part of what
novelty means ever since (docs/reference/replay.md, Metrics).
"""


def cut_tags(markup: str, limits: Limits) -> tuple[Iterator[tuple[str, str]], bool]:
    """Pair the inside of every tag with the text that follows it; and say whether `limits` cut any off."""
    if markup.count("<") != markup.count(">"):
        markup = mend(markup)
    most = 4 * limits.elements
    pieces = markup.replace(">", "<").split("<", most)
    return zip(pieces[1:most:2], pieces[2:most:2], strict=False), len(pieces) > most


class PageWalk:
    """What a walk collects, in document order.

    `displayed`: displayed leaves, as `PathTree.trie` takes them. `texts`: displayed texts outside anchors,
    stripped. `anchors`, `nodes`: tag and node in the tree of every ``a`` and ``area`` with href.
    `elements_cut`: the page went on after `Limits.elements`.
    """

    def __init__(self, tags: TagTable, limits: Limits) -> None:
        self.displayed: list[int] = []
        self.texts: list[str] = []
        self.anchors: list[Special] = []
        self.nodes: list[int] = []
        self.elements_cut = False
        self._tags, self._paths = tags, tags.paths
        self._limits = limits
        self._anchor_texts: list[str] = []
        self._starts: list[int] = []
        self._texts_before: list[int] = []
        self._alts: dict[int, str] = {}
        self._open: list[int] = [-1]

    def read(self, markup: str) -> None:
        """Walk over `markup`, well-formed XML."""
        known, specials = self._tags.steps, self._tags.specials
        parents, children, grow = self._paths.parents, self._paths.children, self._paths.grow
        texts, displayed = self.texts, self.displayed
        node, anchor = 0, -1
        pieces, self.elements_cut = cut_tags(markup, self._limits)
        for raw, text in pieces:
            step = known.get(raw)
            if step is None and raw not in specials:
                self._tags.learn(raw)
                step = known.get(raw)
            if step is END:
                if node == anchor:
                    anchor = self._close_anchor()
                node = parents[node]
            elif step is None:
                node = self._add_special(specials[raw], node)
                anchor = self._open[-1]
            elif step is not VOID:
                node = children[node].get(step) or grow(node, step)
            elif anchor >= 0:
                self._anchor_texts.append(" ")
            if text and not text.isspace():
                displayed.append(~node)
                if anchor < 0:
                    texts.append(text)
                else:
                    self._add_anchor_text(text, node)
            elif text and anchor >= 0:
                self._anchor_texts.append(" ")
        self.texts = [unescaped(text) if "&" in text else text for text in map(str.strip, texts)]

    def anchor_texts(self, first: int) -> list[str]:
        """Return the text of each of the `first` anchors, or of all if there are fewer.

        White space is collapsed; without text it is ``alt`` of the anchor's first image. A text behind an
        anchor nested in another counts as text of the inner one.
        """
        texts, most = self._anchor_texts, self._limits.anchor_chars
        bounds = [*self._starts, len(texts)][: first + 1]
        found = [
            " ".join((texts[start] if end == start + 1 else "".join(texts[start:end])).split())[:most]
            for start, end in pairwise(bounds)
        ]
        for i, text in enumerate(found):
            if not text:
                found[i] = (self._alts.get(i) or self.anchors[i].alt)[:most]
        return found

    def blocks_before(self, first: int) -> list[int]:
        """Return, for each of the `first` anchors, how many long text blocks of the page stand before it."""
        blocks = list(accumulate((len(text) >= BLOCK_CHARS for text in self.texts), initial=0))
        return [blocks[texts] for texts in self._texts_before[:first]]

    def _add_special(self, tag: Special, node: int) -> int:
        inside = self._paths.children[node].get(tag.step) or self._paths.grow(node, tag.step)
        if tag.is_leaf:
            self.displayed.append(inside)
        if not tag.is_link:
            if tag.alt and self._open[-1] >= 0:
                self._alts.setdefault(len(self.anchors) - 1, tag.alt)
            return node
        self.anchors.append(tag)
        self.nodes.append(inside)
        self._texts_before.append(len(self.texts))
        self._starts.append(len(self._anchor_texts))
        if tag.empty:
            return node
        self._open.append(inside)
        return inside

    def _add_anchor_text(self, text: str, node: int) -> None:
        text = unescaped(text)
        self._anchor_texts.append(text if self._paths.steps[node].inline else f" {text} ")

    def _close_anchor(self) -> int:
        self._open.pop()
        return self._open[-1]
