"""One walk over the serialised tags and texts of a page, collecting displayed leaves, text blocks and anchors."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from itertools import pairwise

from linkscore_scoring.features.graph import Anchor, PathGraph, State
from linkscore_scoring.features.markup import attributes_of, mend, tag_name
from linkscore_scoring.features.types import Limits

BLOCK_CHARS = 25


class PageWalk:
    """What a walk collects, in document order.

    Attributes
    ----------
    leaves
        Path in the graph of every displayed leaf.
    blocks
        Stripped texts of at least `BLOCK_CHARS` characters outside anchors.
    anchors
        Every ``a`` and ``area`` with href.
    text_chars, anchor_chars
        Characters of stripped texts outside and inside anchors.
    elements_cut, depth_cut
        Something was left out for `Limits.elements`, or put to a shorter path for `Limits.depth`.
    """

    def __init__(self, graph: PathGraph, limits: Limits) -> None:
        self.leaves: list[int] = []
        self.blocks: list[str] = []
        self.anchors: list[Anchor] = []
        self.text_chars = 0
        self.anchor_chars = 0
        self.elements_cut = False
        self.depth_cut = False
        self._graph = graph
        self._limits = limits
        self._texts: list[str] = []
        self._starts: list[int] = []
        self._alts: dict[int, str] = {}

    def read(self, markup: str) -> None:
        """Walk over `markup`, well-formed XML, from the root on."""
        state = self._graph.root
        unknown = self._unknown
        for raw, text in self._pieces(markup):
            after = state.get(raw)
            state = unknown(state, raw) if after is None else after
            if text:
                if state.anchor:
                    self._texts.append(f"{state.edge}{text}{state.edge}")
                shown = text.strip()
                if shown:
                    self._show(shown, state)

    def anchor_texts(self, links: int) -> Iterator[str]:
        """Yield the text of the first `links` anchors: their texts, else the ``alt`` of their first image."""
        ends = [*self._starts[: links + 1], len(self._texts)]
        most = self._limits.anchor_chars
        for i, (start, end) in enumerate(pairwise(ends[: links + 1])):
            text = " ".join("".join(self._texts[start:end]).split())
            text = text or " ".join((self.anchors[i].alt or self._alts.get(i, "")).split())
            yield (unescape(text) if "&" in text else text)[:most]

    def _pieces(self, markup: str) -> Iterator[tuple[str, str]]:
        """Pair the inside of every tag with the text that follows it."""
        pieces = mend(markup).replace("<br/>", "\n<br/>").replace(">", "<").split("<")
        most = 4 * self._limits.elements
        if len(pieces) > most:
            self.elements_cut = True
            del pieces[most:]
        return zip(pieces[1::2], pieces[2::2], strict=False)

    def _show(self, text: str, state: State) -> None:
        self.leaves.append(state.text_node)
        self.depth_cut |= state.deep
        if "&" in text:
            text = unescape(text)
        if state.anchor:
            self.anchor_chars += len(text)
            return
        self.text_chars += len(text)
        if len(text) >= BLOCK_CHARS:
            self.blocks.append(text)

    def _unknown(self, state: State, raw: str) -> State:
        """Go on from a tag that is no known move: new, or one that counts each time it is met."""
        tag = tag_name(raw)
        if tag == "img":
            return self._image(state, raw)
        anchor = self._graph.anchor(state, raw) if tag in {"a", "area"} else None
        if anchor is None:
            return self._graph.move(state, raw)
        self.anchors.append(anchor)
        self._starts.append(len(self._texts))
        self.depth_cut |= anchor.after.deep
        if anchor.displayed:
            self.leaves.append(anchor.node)
        return anchor.after

    def _image(self, state: State, raw: str) -> State:
        self.leaves.append(self._graph.image(state, raw))
        if state.anchor:
            self._alts.setdefault(len(self.anchors) - 1, attributes_of(raw).get("alt", ""))
        return state
