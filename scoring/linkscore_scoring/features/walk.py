"""One walk over the serialised tags and texts of a page: displayed leaves, text blocks and anchors."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from itertools import accumulate, pairwise, repeat

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


BLOCK_CHARS = 25
"""Length from which a text outside anchors counts as a long block; chosen, and part of what novelty means
ever since (docs/reference/replay.md, Metrics)."""


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


Seen = tuple[Step, Special | None, str | None]
"""A tag and the text behind it: `END`, `VOID` or a step to go down, and what more there is to say of a leaf
or link; of a text that is blank nothing is left, and there is None where there is no text."""


class TagTable:
    """What tags mean, with the text behind them, remembered across pages.

    Pages of a site repeat their tags and short texts, so most of a page is one dictionary look-up each.

    `seen`: tags with their texts as they stand between ``<`` and ``<``; those with long texts are not kept.
    `paths`: all element paths met so far.
    """

    def __init__(self, limits: Limits) -> None:
        self.paths = PathTree(limits)
        self.seen: dict[str, Seen] = {}
        self._meanings: dict[str, Step | Special] = {}
        self._interned: dict[tuple[str, str], Step] = {}
        self._chars = 0

    def __len__(self) -> int:
        """Return the number of entries, where `_ENTRY_CHARS` of tags and link paths count as one more."""
        tags = len(self.seen) + len(self._meanings) + len(self._interned)
        return tags + len(self.paths.parents) // 2 + (self._chars + self.paths.chars) // _ENTRY_CHARS

    def learn(self, piece: str) -> Seen:
        """Read a tag with its text, and remember it."""
        raw, _, text = piece.partition(">")
        meaning, shown = self.meaning(raw), text[:0] if text.isspace() else text or None
        found = (meaning.step, meaning, shown) if isinstance(meaning, Special) else (meaning, None, shown)
        if len(shown or "") < BLOCK_CHARS:
            self.seen[piece] = found
            self._chars += len(piece)
        return found

    def meaning(self, raw: str) -> Step | Special:
        """Return what the inside of a tag means, such as ``div class="post"``, ``/div`` and ``br/``."""
        found = self._meanings.get(raw)
        if found is None:
            is_special = raw.startswith(("a ", "area ", "img", "frame ", "iframe "))
            found = self._meanings[raw] = (self._special(raw) if is_special else None) or self._step(raw)
            self._chars += len(raw)
        return found

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


_NO_CHILDREN: dict[Step, int] = {}


class PathTree:
    """Element paths of all pages so far, as they are met; node 0 is the place outside the root element, and
    the node behind each element is the texts right below it.

    `parents`, `steps`: parent node and last step of each node. `children`: nodes below each element, by step.
    `chars`: of its link paths.
    """

    def __init__(self, limits: Limits) -> None:
        self.parents, self.steps = [0, 0], [TEXT, TEXT]
        self.children: list[dict[Step, int]] = [{}, _NO_CHILDREN]
        self.chars = 0
        self._depths = [0]  # of each element
        self._tops: dict[int, int] = {}  # of elements below the limit of depth, the one around them at it
        self._limits = limits
        self._link_paths: dict[int, str | None] = {}

    def grow(self, node: int, step: Step) -> int:
        """Add the element one step below `node`, and its texts."""
        new = self.children[node][step] = len(self.parents)
        depth = self._depths[node // 2] + 1
        if depth > self._limits.depth:
            self._tops[new] = self._tops.get(node, node)
        self.parents += node, new
        self.steps += step, TEXT
        self.children += {}, _NO_CHILDREN
        self._depths.append(depth)
        return new

    def link_path(self, node: int) -> str | None:
        """Return the raw link path of an anchor: element names from the root, and the classes of the last;
        None if it is too long to be told from others.

        Of nesting deeper than `Limits.depth` the outermost elements and the anchor are named.
        """
        if node not in self._link_paths:
            names, parent = [], self.parents[node]
            at = self._tops.get(parent, parent)
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

        `displayed`: the node of each leaf. Each stands behind the nodes around it that are new.
        """
        counts, cuts = Counter(displayed), []
        if self._tops:
            within = Counter[int]()
            for row, n in counts.items():
                top = self._tops.get(row - row % 2)
                within[row if top is None else top + 1] += n
            cuts += ["depth_cut"] if within != counts else []
            counts = within
        parents, rows, places = self.parents, [], {0: -1}
        for row in counts:
            above: list[int] = []
            while row not in places:
                places[row] = 0
                above.append(row)
                row = parents[row]
            rows += above[::-1]
        steps = list(map(self.steps.__getitem__, rows))
        most = bisect_right(list(accumulate(step.size for step in steps)), MAX_PATH_CHARS)
        most = min(most, self._limits.path_nodes)
        cuts += ["paths_cut"] if most < len(rows) else []
        places.update(zip(rows, range(len(rows)), strict=True))
        del rows[most:], steps[most:]
        return PathTrie(
            list(map(places.__getitem__, map(parents.__getitem__, rows))),
            [step.name for step in steps],
            [step.classes for step in steps],
            list(map(counts.get, rows, repeat(0))),
        ), cuts


def cut_tags(markup: str, limits: Limits) -> tuple[list[str], bool]:
    """Return the inside of every tag with ``>`` and the text that follows it; and whether `limits` cut any
    off.
    """
    if markup.count("<") != markup.count(">"):
        markup = mend(markup)
    most = 2 * limits.elements
    pieces = markup.split("<", most)
    return pieces[1:most], len(pieces) > most


class PageWalk:
    """What a walk collects, in document order.

    `displayed`: displayed leaves, as `PathTree.trie` takes them. `texts`: displayed texts outside anchors,
    stripped. `anchors`: tag and node in the tree of every ``a`` and ``area`` with href, and how many `texts`
    and pieces of anchor texts stand before it. `elements_cut`: the page went on after `Limits.elements`.
    """

    def __init__(self, tags: TagTable, limits: Limits) -> None:
        self.displayed: list[int] = []
        self.texts: list[str] = []
        self.anchors: list[tuple[Special, int, int, int]] = []
        self.elements_cut = False
        self._tags, self._paths = tags, tags.paths
        self._limits = limits
        self._anchor_texts: list[str] = []
        self._alts: dict[int, str] = {}

    def read(self, markup: str) -> None:
        """Walk over `markup`, well-formed XML."""
        seen, learn, steps = self._tags.seen, self._tags.learn, self._paths.steps
        parents, children, grow = self._paths.parents, self._paths.children, self._paths.grow
        texts, displayed, anchors, anchor_texts = self.texts, self.displayed, self.anchors, self._anchor_texts
        node, anchor, around = 0, -1, [-1]
        pieces, self.elements_cut = cut_tags(markup, self._limits)
        for piece in pieces:
            step, tag, text = seen.get(piece) or learn(piece)
            if step is END:
                if node == anchor:
                    anchor = around.pop()
                node = parents[node]
            elif tag is not None:
                inside = children[node].get(step) or grow(node, step)
                if tag.is_leaf:
                    displayed.append(inside)
                if tag.is_link:
                    anchors.append((tag, inside, len(texts), len(anchor_texts)))
                    if not tag.empty:
                        around.append(anchor)
                        node = anchor = inside
                elif tag.alt and anchor >= 0:
                    self._alts.setdefault(len(anchors) - 1, tag.alt)
            elif step is not VOID:
                node = children[node].get(step) or grow(node, step)
            elif anchor >= 0:
                anchor_texts.append(" ")
            if text:
                displayed.append(node + 1)
                if anchor < 0:
                    texts.append(text)
                else:
                    anchor_texts.append(text if steps[node].inline else f" {text} ")
            elif text is not None and anchor >= 0:
                anchor_texts.append(" ")
        self.texts = [unescaped(text) if "&" in text else text for text in map(str.strip, texts)]

    def anchor_texts(self, first: int) -> list[str]:
        """Return the text of each of the `first` anchors, or of all if there are fewer.

        White space is collapsed; without text it is ``alt`` of the anchor's first image. A text behind an
        anchor nested in another counts as text of the inner one.
        """
        texts, most = self._anchor_texts, self._limits.anchor_chars
        bounds = [*(start for *_, start in self.anchors), len(texts)][: first + 1]
        joined = (
            texts[start] if end == start + 1 else "".join(texts[start:end]) for start, end in pairwise(bounds)
        )
        found = [" ".join((unescaped(text) if "&" in text else text).split())[:most] for text in joined]
        for i, text in enumerate(found):
            if not text:
                found[i] = (self._alts.get(i) or self.anchors[i][0].alt)[:most]
        return found

    def blocks_before(self, first: int) -> list[int]:
        """Return, for each of the `first` anchors, how many long text blocks of the page stand before it."""
        blocks = list(accumulate(map(BLOCK_CHARS.__le__, map(len, self.texts)), initial=0))
        return [blocks[texts] for _, _, texts, _ in self.anchors[:first]]
