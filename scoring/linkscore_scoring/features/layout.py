"""The layout of a page: its elements as columns in document order, and signals of what kind of page it is.

A subtree is a range of the texts. Signals tell an index page from a thread page in any engine."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from math import log1p
from typing import Any, Self

from linkscore_scoring.features.types import Links, PageFeatures
from linkscore_scoring.features.walk import (
    END,
    TEXT,
    VOID,
    Special,
    Step,
    TagTable,
    attribute_of,
    class_tokens,
    tag_name,
    unescaped,
)

# Characters read of a ``datetime``: those of a date are fewer than 40 (HTML, 4.5.14).
_MOMENT_CHARS = 120

_UNSEEN = frozenset(("br", "hr", "link", "meta", "param", "source", "wbr", "col"))
_FORM_TEXTS = frozenset(("option", "select", "textarea", "datalist"))


@dataclass(slots=True)
class PageTree:
    """What a page holds where; element 0 is the place outside the root element."""

    parents: list[int] = field(default_factory=lambda: [0])  # parent element and tag of each element
    steps: list[Step] = field(default_factory=lambda: [TEXT])
    # Range of the texts in each element's subtree.
    first_texts: list[int] = field(default_factory=lambda: [0])
    last_texts: list[int] = field(default_factory=lambda: [0])
    texts: list[str] = field(default_factory=list)  # displayed texts, stripped
    text_nodes: list[int] = field(default_factory=list)  # element right around each text
    text_anchors: list[int] = field(default_factory=list)
    # Element of each anchor: ``a`` and ``area`` with href, in the order of `PageWalk.anchors`.
    anchor_nodes: list[int] = field(default_factory=list)
    hrefs: list[str] = field(default_factory=list)  # target of each anchor, as written
    ids: set[str] = field(default_factory=set)  # values of ``id``
    # (number of texts before it, ``datetime``) of each ``time`` that has one.
    moments: list[tuple[int, str]] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        *,
        step_table: Iterable[tuple[str, str]],
        steps: Iterable[int],
        ids: Iterable[str],
        **columns: Any,
    ) -> Self:
        """Return the tree of a page as the compiled reader gives it."""
        table = [Step(name, classes) for name, classes in step_table]
        return cls(steps=[table[number] for number in steps], ids=set(ids), **columns)

    def __len__(self) -> int:
        return len(self.parents)


class TreeReader:
    """Builds a tree while it goes through the tags of a page, once."""

    def __init__(self, tags: TagTable) -> None:
        self._tree = PageTree()
        self._tags = tags
        self._voids: dict[str, Step | None] = {}
        self._open = [0]
        self._inside: list[int] = []

    def read(self, pieces: Iterable[str]) -> PageTree:
        """Return the tree of a page by the tags of `cut_tags`."""
        for piece in pieces:
            raw, _, text = piece.partition(">")
            step = self._tags.meaning(raw)
            if ' id="' in raw:
                self._tree.ids.add(attribute_of(raw, "id"))
            if step is END:
                self._leave()
            elif isinstance(step, Special):
                self._meet_special(step)
            elif step is VOID:
                self._meet_empty(raw)
            else:
                self._enter(step)
                if step.name == "time":
                    self._note_moment(raw)
            if text and not text.isspace():
                self._add_text(text)
        while len(self._open) > 1:
            self._leave()
        self._tree.last_texts[0] = len(self._tree.texts)
        return self._tree

    def _enter(self, step: Step) -> None:
        self._open.append(len(self._tree.parents))
        self._add(step)

    def _add(self, step: Step) -> None:
        number, texts = len(self._tree.parents), len(self._tree.texts)
        self._tree.parents.append(self._open[-2] if self._open[-1] == number else self._open[-1])
        self._tree.steps.append(step)
        self._tree.first_texts.append(texts)
        self._tree.last_texts.append(texts)

    def _leave(self) -> None:
        if len(self._open) > 1:
            node = self._open.pop()
            self._tree.last_texts[node] = len(self._tree.texts)
            if self._inside and self._tree.anchor_nodes[self._inside[-1]] == node:
                self._inside.pop()

    def _meet_special(self, tag: Special) -> None:
        if not tag.is_link:
            self._add(tag.step)
            return
        if tag.empty:
            self._add(tag.step)
        else:
            self._enter(tag.step)
            self._inside.append(len(self._tree.anchor_nodes))
        self._tree.anchor_nodes.append(len(self._tree.parents) - 1)
        self._tree.hrefs.append(tag.href)

    def _meet_empty(self, raw: str) -> None:
        if raw not in self._voids:
            name = tag_name(raw)
            classes = class_tokens(attribute_of(raw, "class"))
            self._voids[raw] = None if name in _UNSEEN else Step(name, classes)
        step = self._voids[raw]
        if step is not None:
            self._add(step)
            if step.name == "time":
                self._note_moment(raw)

    def _note_moment(self, raw: str) -> None:
        value = attribute_of(raw, "datetime")
        if value:
            self._tree.moments.append((len(self._tree.texts), value[:_MOMENT_CHARS]))

    def _add_text(self, text: str) -> None:
        node = self._open[-1]
        if self._tree.steps[node].name in _FORM_TEXTS:
            return
        self._tree.texts.append(unescaped(text).strip())
        self._tree.text_nodes.append(node)
        self._tree.text_anchors.append(self._inside[-1] if self._inside else -1)


LONG_CHARS = 80
"""Characters outside of links from which a block is long: about a line; chosen, not measured."""


@dataclass(slots=True)
class Block:
    """A text block of the content."""

    node: int  # block-level element it stands in
    start: int  # range of its texts
    end: int = 0
    plain: int = 0  # characters outside and inside of links
    anchor: int = 0


def text_blocks(tree: PageTree, around: Sequence[bool]) -> list[Block]:
    """Return the blocks of a page, boilerplate left out; cost O(texts + elements)."""
    outer, blocks = [0] * len(tree), list[Block]()
    for node in range(1, len(tree)):  # the nearest element around each, or itself, that is not inline
        outer[node] = outer[tree.parents[node]] if tree.steps[node].inline else node
    for at, (text, node, anchor) in enumerate(
        zip(tree.texts, tree.text_nodes, tree.text_anchors, strict=True)
    ):
        if around[node]:
            continue
        if not blocks or outer[node] != blocks[-1].node:
            blocks.append(Block(outer[node], at))
        block = blocks[-1]
        if anchor < 0:
            block.plain += len(text)
        else:
            block.anchor += len(text)
        block.end = at + 1
    return blocks


MAX_SHARE = 0.4
"""Share of the page's text from which an element is content whatever its name
(research/notebook/page-types.md); chosen."""

_TAGS = frozenset(("nav", "aside", "dialog"))
_EDGE_TAGS = frozenset(("header", "footer"))
_CONTENT_TAGS = frozenset(("article", "section", "main", "li", "td"))
# Elements from the root down to which a header or footer is that of the page; chosen, not measured.
_EDGE_DEPTH = 6
_WORDS = re.compile(
    r"side-?_?(?:bar|panel|nav|box)|bread-?_?crumb|nav(?:bar|igation|list|menu)|drop-?_?down|off-?_?canvas|masthead|tag-?_?cloud|widget"
    r"|(?<![a-z])(?:nav|menu|submenu|crumbs|toolbar|related|popular|trending|recent|login|signin|search|cookie|cookies|modal|popup|advert|ads"
    r"|tooltip|copyright|blogroll|jump|jumpbox|jumpto|skip)(?![a-z])"
)
_EDGE_WORDS = re.compile(
    r"(?<![a-z])(?:page|site|main|global|top)?-?_?(?:header|footer|head|foot|bottom|topbar)(?![a-z])"
)
_STATE = re.compile(r"(?:^|[-_])(?:has|with|without|no|show|js|is)(?:[-_]|$)")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def boilerplate(tree: PageTree) -> list[bool]:
    """Say of each element whether it is around the content, itself or by an element around it."""
    chars = [0, *accumulate(map(len, tree.texts))]
    most = MAX_SHARE * chars[-1]
    found = [False] * len(tree)
    depth = [0] * len(tree)
    inside = [False] * len(tree)
    for node in range(1, len(tree)):
        parent, step = tree.parents[node], tree.steps[node]
        depth[node] = depth[parent] + 1
        inside[node] = inside[parent] or step.name in _CONTENT_TAGS
        if found[parent]:
            found[node] = True
        elif (
            step.name in _TAGS
            or _named(step.classes)
            or (
                not inside[node]
                and depth[node] <= _EDGE_DEPTH
                and (step.name in _EDGE_TAGS or _edge(step.classes))
            )
        ):
            found[node] = chars[tree.last_texts[node]] - chars[tree.first_texts[node]] <= most
    return found


@lru_cache(maxsize=4_000)
def _named(classes: str) -> bool:
    return _says(classes, _WORDS)


@lru_cache(maxsize=4_000)
def _edge(classes: str) -> bool:
    return _says(classes, _EDGE_WORDS)


def _says(classes: str, words: re.Pattern[str]) -> bool:
    text = _CAMEL.sub("-", classes).lower()
    if not words.search(text):  # as nearly always
        return False
    return any(words.search(token) and not _STATE.search(token) for token in text.split())


# Longer texts are prose, whose dates are not those of the page's records; chosen, not measured.
_MAX_CHARS = 120
# Texts of a page that are read for times: a bound of work. The largest of 24,518 stored pages has 23,000
# elements.
_MAX_TEXTS = 25_000
# A time of day without a date counts only in texts as short as a label; chosen, not measured.
_CLOCK_CHARS = 40
_MONTHS = (
    "jan|ene|gen|янв|feb|fev|fév|фев|mar|mär|мар|apr|abr|avr|апр|may|mai|mag|maj|май|мая|jun|juin|giu|июн"
    "|jul|juil|lug|июл|aug|ago|aoû|авг|sep|set|сен|oct|okt|ott|out|окт|nov|ноя|dec|dez|dic|déc|дек"
)
_UNITS = (
    "min|мин|hour|hr|stund|heure|hora|ora|ore|uur|час|day|tag|jour|día|dia|giorn|dag|дн|ден|week|woche|semain"
    "|seman|settiman|нед|month|monat|mois|mes|mês|maand|мес|year|jahr|an|año|jaar|год|лет"
)
_DAYS = r"\b(?:today|heute|hoy|hoje|oggi|сегодня|yesterday|gestern|ayer|ontem|hier|ieri|вчера)\b"
_YEAR, _DAY, _MONTH = r"(?:19|20)\d\d", r"(?:3[01]|[012]?\d)", rf"(?:{_MONTHS})[^\W\d_]{{0,9}}"
_UNIT = rf"(?:{_UNITS})[^\W\d_]*"
_MAY_BE = re.compile(rf"\d| ago|{_DAYS}", re.IGNORECASE)
_TIME = re.compile(
    rf"{_DAYS}|\b{_YEAR}[-/.]{_DAY}[-/.]{_DAY}(?!\d)|\b{_DAY}([-/.]){_DAY}\1(?:{_YEAR}|\d\d)\b"
    rf"|\b{_MONTH}\.?\s+{_DAY}(?:st|nd|rd|th)?,?\s+{_YEAR}\b"
    rf"|\b{_DAY}(?:st|nd|rd|th|\.)?[\s-]+(?:de |of )?{_MONTH}\.?,?[\s-]+(?:de )?{_YEAR}\b"
    rf"|\b(?:\d+|an?|one)\s+{_UNIT}\s+(?:ago|fa|atrás|назад|geleden|siden|temu)\b"
    rf"|\b(?:vor|hace|il y a|há|för)\s+\d+\s+{_UNIT}",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\b\d{1,2}:\d\d")


def find_moments(tree: PageTree) -> list[int]:
    """Return the points in time of a page, each as the number of texts before it, in order."""
    known = {at for at, value in tree.moments if _is_time(value)}
    texts = enumerate(tree.texts[:_MAX_TEXTS])
    return sorted(known.union(at for at, text in texts if len(text) <= _MAX_CHARS and _is_time(text)))


def _is_time(text: str) -> bool:
    if not _MAY_BE.search(text):
        return False
    return bool(_TIME.search(text) or (len(text) <= _CLOCK_CHARS and _CLOCK.search(text)))


def of_tags(pieces: Iterable[str], tags: TagTable, page: PageFeatures, anchors: Sequence[int]) -> list[float]:
    """Return the signals of a page from its tags (`walk.cut_tags`).

    `anchors` is the number of the anchor of each row of its links. Cost O(elements + texts + links).
    """
    return list(measure(PageView.of(TreeReader(tags).read(pieces), page.links, anchors, page.key)).values())


def of_outline(outline: Mapping[str, Any], page: PageFeatures, anchors: Sequence[int]) -> list[float]:
    """Return the signals of a page from the outline of a compiled reader."""
    return list(measure(PageView.of(PageTree.of(**outline), page.links, anchors, page.key)).values())


def measure(view: PageView) -> dict[str, float]:
    """Return the signals of a page by name; counts as ln(1 + x), the others in [0, 1].

    Of some hundred, records of table 1 of Jiang 2013 among them, these tell pages of stored forums apart as
    well as all together (research/notebook/page-types.md).
    """
    titles, linked, unlinked = find_titles(view)
    return {
        "unlinked_headings": log1p(unlinked),
        "linked_heading_share": linked / (linked + unlinked) if linked else 0.0,
        **time_signals(view, titles),
        **_word_signals(view),
        "is_person": float(_PERSON_PAGE.search(view.key) is not None),
    }


_PERSON = re.compile(r"user|member|profile|author|people|[?&;]u=", re.IGNORECASE)


@dataclass(slots=True)
class PageView:
    """One page as a tree, with what was found in it. All positions are of content, not of boilerplate."""

    tree: PageTree  # the elements
    around: list[bool]  # whether each element is boilerplate
    blocks: list[Block]  # text blocks
    moments: list[int]  # number of texts before each point in time
    links: Links  # the links of the page, the anchor of each row, and the identity of the page
    anchors: Sequence[int]
    key: str
    rows: list[int] = field(default_factory=list)  # rows of `links` in the content
    # Rows that lead to a place on this page, by an id of it, or to the page itself.
    own: set[int] = field(default_factory=set)
    # Of these: those to a place on it, and the anchors that are not rows, since they name only a fragment.
    inner: list[int] = field(default_factory=list)
    people: set[int] = field(default_factory=set)  # rows whose URL says that a person is at its end

    @classmethod
    def of(cls, tree: PageTree, links: Links, anchors: Sequence[int], key: str) -> PageView:
        """Look at a page; `anchors` are the numbers of the anchors that are rows of `links`."""
        around, nodes = boilerplate(tree), tree.text_nodes
        moments = [at for at in find_moments(tree) if at >= len(nodes) or not around[nodes[at]]]
        view = cls(tree, around, text_blocks(tree, around), moments, links, anchors, key)
        view._sort_links()
        return view

    def element(self, row: int) -> int:
        """Return the element of a link."""
        return self.tree.anchor_nodes[self.anchors[row]]

    def text_of(self, row: int) -> int:
        """Return how many texts stand before a link."""
        return self.tree.first_texts[self.element(row)]

    def _sort_links(self) -> None:
        tree, urls = self.tree, self.links.urls
        self.rows = [row for row in range(len(urls)) if not self.around[self.element(row)]]
        row_of = {self.anchors[row]: row for row in self.rows}
        for anchor, (node, href) in enumerate(zip(tree.anchor_nodes, tree.hrefs, strict=True)):
            row = row_of.get(anchor, -1)
            if self.around[node] or (row < 0 and not href.startswith("#")):
                continue
            place = href.partition("#")[2] or href.rstrip("/").rpartition("/")[2]
            if place and place in tree.ids:
                self.inner.append(anchor)
                self.own |= {row} - {-1}
        self.own |= {row for row in self.rows if self.links.keys[row] == self.key}
        paths = ((row, urls[row].find("/", len("https://"))) for row in self.rows)
        people = {row for row, path in paths if path >= 0 and _PERSON.search(urls[row], path)}
        self.people = people - self.own


# Characters of an anchor from which it may be a title, and within a heading; shorter ones are labels. These
# and the next three were chosen, looking at stored sites (research/notebook/page-types.md), not searched for.
_TITLE_CHARS, _HEADING_CHARS = 10, 3
# Text beside the link of a headline, over the text of the link: at most this.
_PLAIN_SHARE = 0.4
# Elements around a time that are searched for what it belongs to.
_MAX_LEVELS = 8
# Times looked at; a bound of work.
_TITLE_MOMENTS = 200
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))


def find_titles(view: PageView) -> tuple[set[int], int, int]:
    """Return the rows of headlines, and how many headings lead away, and how many titles do not."""
    titles, linked, unlinked = set[int](), 0, 0
    in_heading = _in_headings(view)
    row_of = {view.anchors[row]: row for row in view.rows}
    stamps = set(view.moments)
    for block in view.blocks:
        anchors = view.tree.text_anchors[block.start : block.end]
        rows = {row_of[anchor] for anchor in anchors if anchor in row_of}
        least = _HEADING_CHARS if in_heading[block.node] else _TITLE_CHARS
        named = {row for row in rows - view.own - view.people if len(view.links.anchors[row]) >= least}
        is_alone = block.anchor >= least and block.plain <= _PLAIN_SHARE * block.anchor
        if named and is_alone and stamps.isdisjoint(range(block.start, block.end)):
            titles |= named
        elif not in_heading[block.node] or (rows and rows <= view.people):
            continue
        leads = bool(named) and named <= titles
        linked += leads and in_heading[block.node]
        unlinked += not leads
    return titles, linked, unlinked


def time_signals(view: PageView, titles: Iterable[int]) -> dict[str, float]:
    """Return what points in time belong to: a headline, long text, both, neither; or a place on this page."""
    headlines = sorted(map(view.text_of, titles))
    longs = [block.start for block in view.blocks if block.plain >= LONG_CHARS]
    inner = sorted(view.tree.first_texts[view.tree.anchor_nodes[anchor]] for anchor in view.inner)
    found = Counter[str]()
    for at in view.moments[:_TITLE_MOMENTS]:
        if at < len(view.tree.text_nodes):
            first, last = _surrounding(view, at, headlines, longs)
            found[_KINDS[_any(headlines, first, last), _any(longs, first, last)]] += 1
            found["inner"] += _any(inner, first, last)
    whole = min(_TITLE_MOMENTS, len(view.moments)) + 1
    return {f"time_with_{name}": found[name] / whole for name in ("headline", "text", "both", "inner")}


_KINDS = {(True, False): "headline", (False, True): "text", (True, True): "both", (False, False): "neither"}


def _surrounding(view: PageView, text: int, *marks: Sequence[int]) -> tuple[int, int]:
    """Return the range of texts of the smallest element around a text that holds a mark."""
    tree, node = view.tree, view.tree.text_nodes[text]
    for _ in range(_MAX_LEVELS):
        first, last = tree.first_texts[node], tree.last_texts[node]
        if not node or any(_any(mark, first, last) for mark in marks):
            break
        node = tree.parents[node]
    return first, last


def _any(sorted_places: Sequence[int], first: int, last: int) -> bool:
    at = bisect_left(sorted_places, first)
    return at < len(sorted_places) and sorted_places[at] < last


def _in_headings(view: PageView) -> list[bool]:
    tree, inside = view.tree, [False] * len(view.tree)
    for node in range(1, len(tree)):
        inside[node] = inside[tree.parents[node]] or tree.steps[node].name in _HEADINGS
    return inside


# Longer texts are prose in which such a word may stand by chance: of what readers do to a post, of what lists
# count. Chosen with the stored sites in view (research/notebook/page-types.md).
_ACTION_CHARS, _COUNT_CHARS = 30, 60
_ACTION = re.compile(
    r"^\W*(?:reply|quote|report|like|share|permalink|upvote|flag|answer"
    r"|antworten|zitieren|melden|teilen|kommentieren|répondre|citer|signaler|responder|citar|denunciar"
    r"|comentar|rispondi|cita|ответить|цитата|цитировать|жалоба|поделиться|beantwoorden|odpowiedz|cytuj)\b",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"\b(?:replies|views|topics|posts|answers|comments|threads|votes|antworten|aufrufe|themen|beitr[aä]ge"
    r"|kommentare|réponses|vues|sujets|commentaires|respuestas|vistas|temas|mensajes|comentarios|respostas"
    r"|risposte|visite|messaggi|commenti)\b|ответ|просмотр|сообщени|комментари|\bтем[аы]\b",
    re.IGNORECASE,
)
_PERSON_PAGE = re.compile(
    r"/(?:user|member|profile|people|u)s?/[^/]|profile\.|member(?:list)?\.|viewprofile|showuser|[?&](?:u|uid|user)="
)


def _word_signals(view: PageView) -> dict[str, float]:
    """Return signals of words in some languages: what readers do to posts, what lists count."""
    around, nodes = view.around, view.tree.text_nodes
    labels = [
        text for at, text in enumerate(view.tree.texts) if len(text) < _COUNT_CHARS and not around[nodes[at]]
    ]
    anchors = (view.links.anchors[row] for row in view.rows)
    acts = (len(anchor) < _ACTION_CHARS and _ACTION.search(anchor) is not None for anchor in anchors)
    return {
        "actions": log1p(sum(acts)),
        "counts": log1p(sum(_COUNT.search(text) is not None for text in labels)),
    }


SIGNALS = tuple(measure(PageView.of(PageTree(), Links(), [], "")))
"""Names of the signals, in their order."""
