"""The elements of one page as columns in document order, so that a subtree is a range of the texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Any, Self

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
