"""Signals of titles: whose text it is, that of this page or of the page a title leads to.

A headline is a link to another page that is alone in its text block: the title of a record in a list. A
heading is an ``h1`` to ``h6``. Long text below a linked title is an excerpt; below an unlinked one it is the
page's own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import log1p

from linkscore_scoring.features.layout.text_blocks import LONG_CHARS
from linkscore_scoring.features.layout.view import PageView, ratio

# Characters of an anchor from which it may be a title, and within a heading; shorter ones are labels. These
# and the next three were chosen, looking at stored sites (research/notebook/page-types.md), not searched for.
_TITLE_CHARS, _HEADING_CHARS = 10, 3
# Text beside the link of a headline, over the text of the link: at most this.
_PLAIN_SHARE = 0.4
# Elements around a time that are searched for what it belongs to.
_MAX_LEVELS = 8
# Added to the text a share is taken of, so that little text says little.
_PRIOR_CHARS = 200
# Times looked at; a bound of work.
_MAX_MOMENTS = 200
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))


@dataclass(slots=True)
class Titles:
    """Titles of a page in document order: their block, if they lead to another page, if they are headings."""

    blocks: list[int] = field(default_factory=list)
    leads: list[bool] = field(default_factory=list)
    heads: list[bool] = field(default_factory=list)
    rows: set[int] = field(default_factory=set)


def find_titles(view: PageView) -> Titles:
    """Return the headlines and headings of a page."""
    titles = Titles()
    in_heading = _in_headings(view)
    row_of = {view.anchors[row]: row for row in view.rows}
    stamps = {at for at, _ in view.moments}
    for block, (start, end, node) in enumerate(
        zip(view.blocks.starts, view.blocks.ends, view.blocks.nodes, strict=True)
    ):
        anchors = {anchor for anchor in view.tree.text_anchors[start:end] if anchor >= 0}
        rows = {row_of[anchor] for anchor in anchors if anchor in row_of}
        least = _HEADING_CHARS if in_heading[node] else _TITLE_CHARS
        named = {row for row in rows - view.own - view.people if len(view.links.anchors[row]) >= least}
        if named and _is_alone(view, block, least) and stamps.isdisjoint(range(start, end)):
            titles.rows |= named
        elif not in_heading[node] or (rows and rows <= view.people):
            continue
        titles.blocks.append(block)
        titles.leads.append(bool(named) and named <= titles.rows)
        titles.heads.append(in_heading[node])
    return titles


def title_signals(view: PageView, titles: Titles) -> dict[str, float]:
    """Return how many titles lead away, and how much text stands below those and below others."""
    linked = sum(lead and head for lead, head in zip(titles.leads, titles.heads, strict=True))
    unlinked = titles.leads.count(False)
    found = {
        "headlines": log1p(len(titles.rows)),
        "linked_headings": log1p(linked),
        "unlinked_headings": log1p(unlinked),
        "linked_heading_share": ratio(linked, linked + unlinked),
    }
    for name, heads_only in (("heading", True), ("headline", False)):
        own, excerpt = _texts_below(view, titles, heads_only=heads_only)
        found[f"{name}_own_text"] = log1p(own)
        found[f"{name}_excerpts"] = log1p(excerpt)
        found[f"{name}_own_share"] = ratio(own, own + excerpt + _PRIOR_CHARS)
        found[f"{name}_excerpt_share"] = ratio(excerpt, own + excerpt + _PRIOR_CHARS)
    return found


def time_signals(view: PageView, titles: Titles) -> dict[str, float]:
    """Return what points in time belong to: a headline, long text, both, neither; or a place on this page.

    A time belongs to the smallest element around it that holds a headline or a long text, at most 8 levels
    up: records grown from their dates, as MiBAT does (Song 2010), also where there is only one.
    """
    headlines = sorted(view.text_of(row) for row in titles.rows)
    longs = [s for s, chars in zip(view.blocks.starts, view.blocks.plain, strict=True) if chars >= LONG_CHARS]
    inner = sorted(view.tree.first_texts[view.tree.anchor_nodes[anchor]] for anchor in view.inner)
    counts = dict.fromkeys(("headline", "text", "both", "neither", "inner"), 0)
    for at, _ in view.moments[:_MAX_MOMENTS]:
        if at < len(view.tree.text_nodes):
            first, last = _surrounding(view, at, headlines, longs)
            kind = (_any(headlines, first, last), _any(longs, first, last))
            counts[_KINDS[kind]] += 1
            counts["inner"] += _any(inner, first, last)
    whole = min(_MAX_MOMENTS, len(view.moments)) + 1
    shares = {f"time_with_{name}": n / whole for name, n in counts.items()}
    return shares | {f"times_with_{name}": log1p(n) for name, n in counts.items()}


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


def _is_alone(view: PageView, block: int, least: int) -> bool:
    plain, anchor = view.blocks.plain[block], view.blocks.anchor[block]
    return anchor >= least and plain <= _PLAIN_SHARE * anchor


def _texts_below(view: PageView, titles: Titles, *, heads_only: bool) -> tuple[int, int]:
    """Return the characters of long text whose last title before it is unlinked, and linked."""
    marks = {
        block: lead
        for block, lead, head in zip(titles.blocks, titles.leads, titles.heads, strict=True)
        if head or not heads_only
    }
    below = list(accumulate(range(len(view.blocks)), lambda lead, b: marks.get(b, lead), initial=False))
    own = excerpt = 0
    for block, chars in enumerate(view.blocks.plain):
        if chars >= LONG_CHARS:
            own, excerpt = (own, excerpt + chars) if below[block] else (own + chars, excerpt)
    return own, excerpt
