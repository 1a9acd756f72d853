"""The elements of one page as columns in document order, so that a subtree is a range of every column."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from linkscore_scoring.features.bags import normal_tokens
from linkscore_scoring.features.markup import (
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

# Remembered, since pages of a site repeat them. An entry may have 500 tokens: a bound of 100 MB.
_class_names = lru_cache(maxsize=4_000)(normal_tokens)


class ClassNames(dict[Step, tuple[str, ...]]):
    """Class tokens of each step of a page as `normal_tokens` has them, found when first asked for."""

    def __missing__(self, step: Step) -> tuple[str, ...]:
        """Find those of a step."""
        found = self[step] = _class_names(step.classes)
        return found


# Characters read of a ``datetime``: those of a date are fewer than 40 (HTML, 4.5.14).
_MOMENT_CHARS = 120

_UNSEEN = frozenset(("br", "hr", "link", "meta", "param", "source", "wbr", "col"))
_FORM_TEXTS = frozenset(("option", "select", "textarea", "datalist"))


class PageTree:
    """What a page holds where; element 0 is the place outside the root element.

    Attributes
    ----------
    parents, steps
        Parent element and tag of each element; empty ones without look or use (``br``, ``meta``) are left
        out.
    ends
        Number of the first element behind each element's subtree.
    first_texts, last_texts, first_anchors, last_anchors
        Range of the texts and anchors in each element's subtree.
    texts
        Displayed texts, stripped; those of form fields are left out.
    text_nodes, text_anchors
        Element right around each text; the anchor it is in, -1 outside of all.
    anchor_nodes
        Element of each anchor: ``a`` and ``area`` with href, in the order of `PageWalk.anchors`.
    hrefs
        Target of each anchor, as written.
    ids
        Values of ``id``.
    breaks
        Number of texts before each line break.
    moments
        (number of texts before it, ``datetime``) of each ``time`` that has one.
    names
        Class tokens of each step.
    """

    def __init__(self, tags: TagTable) -> None:
        self.parents, self.steps = [0], [TEXT]
        self.ends = [0]
        self.first_texts, self.last_texts = [0], [0]
        self.first_anchors, self.last_anchors = [0], [0]
        self.texts: list[str] = []
        self.text_nodes: list[int] = []
        self.text_anchors: list[int] = []
        self.anchor_nodes: list[int] = []
        self.breaks: list[int] = []
        self.hrefs: list[str] = []
        self.ids: set[str] = set()
        self.moments: list[tuple[int, str]] = []
        self.names = ClassNames()
        self._tags = tags
        self._voids: dict[str, Step | None] = {}
        self._open = [0]
        self._inside: list[int] = []

    def __len__(self) -> int:
        return len(self.parents)

    def read(self, pieces: Iterable[tuple[str, str]]) -> None:
        """Read the tags of `cut_tags`, once."""
        known = self._tags.steps
        for raw, text in pieces:
            step = known.get(raw)
            if ' id="' in raw:
                self.ids.add(attribute_of(raw, "id"))
            if step is END:
                self._leave()
            elif step is None:
                self._meet(raw)
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
        self._close(0)

    def children(self, node: int) -> int:
        """Return the number of children of an element."""
        child, n = node + 1, 0
        while child < self.ends[node]:
            child, n = self.ends[child], n + 1
        return n

    def _enter(self, step: Step) -> None:
        self._open.append(len(self.parents))
        self._add(step)

    def _add(self, step: Step) -> None:
        number, texts, anchors = len(self.parents), len(self.texts), len(self.anchor_nodes)
        self.parents.append(self._open[-2] if self._open[-1] == number else self._open[-1])
        self.steps.append(step)
        self.ends.append(number + 1)
        self.first_texts.append(texts)
        self.last_texts.append(texts)
        self.first_anchors.append(anchors)
        self.last_anchors.append(anchors)

    def _leave(self) -> None:
        if len(self._open) > 1:
            node = self._open.pop()
            self._close(node)
            if self._inside and self.anchor_nodes[self._inside[-1]] == node:
                self._inside.pop()

    def _close(self, node: int) -> None:
        self.ends[node] = len(self.parents)
        self.last_texts[node] = len(self.texts)
        self.last_anchors[node] = len(self.anchor_nodes)

    def _meet(self, raw: str) -> None:
        """Take in a tag that is new, or a leaf or link."""
        meaning = self._tags.specials.get(raw) or self._tags.learn(raw)
        if isinstance(meaning, Special):
            self._meet_special(meaning)
        elif meaning is END:
            self._leave()
        elif meaning is VOID:
            self._meet_empty(raw)
        else:
            self._enter(meaning)

    def _meet_special(self, tag: Special) -> None:
        if not tag.is_link:
            self._add(tag.step)
            return
        if tag.empty:
            self._add(tag.step)
        else:
            self._enter(tag.step)
            self._inside.append(len(self.anchor_nodes))
        self.anchor_nodes.append(len(self.parents) - 1)
        self.hrefs.append(tag.href)
        self.last_anchors[-1] += tag.empty

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
        elif raw.startswith("br"):
            self.breaks.append(len(self.texts))

    def _note_moment(self, raw: str) -> None:
        value = attribute_of(raw, "datetime")
        if value:
            self.moments.append((len(self.texts), value[:_MOMENT_CHARS]))

    def _add_text(self, text: str) -> None:
        node = self._open[-1]
        if self.steps[node].name in _FORM_TEXTS:
            return
        self.texts.append(unescaped(text).strip())
        self.text_nodes.append(node)
        self.text_anchors.append(self._inside[-1] if self._inside else -1)
