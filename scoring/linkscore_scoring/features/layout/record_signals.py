"""Signals of the records of the main region (Jiang 2013, table 1), measured without a renderer."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import log1p

from linkscore_scoring.features.layout.moments import time_order
from linkscore_scoring.features.layout.regions import MAX_COMPARED
from linkscore_scoring.features.layout.text_blocks import LONG_CHARS
from linkscore_scoring.features.layout.view import PageView, median, ratio, spread
from linkscore_scoring.sums import left_sum

# Characters of a line, for the height of a record without a renderer.
_LINE_CHARS = 80
# Bounds of work for one record and one page: texts whose words are compared, times that are put in order
# (whose cost is quadratic).
_MAX_WORD_TEXTS, _MAX_MOMENTS = 60, 50
# Characters from which a text is more than a label, and from which a text that ends in "..." is an excerpt;
# chosen with the stored sites in view (research/notebook/page-types.md), not searched for.
_LEAD_CHARS, _CUT_CHARS = 12, 40


@dataclass(slots=True)
class PageRecord:
    """One record: its cells, lines, characters outside of links and inside, leaves, links, longest texts."""

    cells: int
    lines: int
    plain: int
    anchor: int
    leaves: int
    links: int
    longest_plain: int
    longest_anchor: int
    link_leads: bool
    is_cut: bool
    moments: list[float] = field(default_factory=list)
    words: frozenset[str] = frozenset()


def record_signals(view: PageView) -> dict[str, float]:
    """Return the signals of the main region; all 0 without one."""
    main = view.regions.found[0] if view.regions.has_main else None
    records = [_record(view, node) for node in main.records[:MAX_COMPARED]] if main else []
    n = len(records)
    found = {"records": log1p(n)}
    found |= spread("width", [1 / record.cells for record in records])
    found |= spread("height", [record.lines for record in records])
    found |= spread("anchor_length", [record.anchor for record in records])
    found |= spread("text_length", [record.plain for record in records])
    found |= spread("leaves", [record.leaves for record in records])
    found |= spread("record_links", [record.links for record in records])
    found["has_link"] = ratio(sum(record.links > 0 for record in records), n)
    found["has_user_link"] = ratio(len(_user_records(view)), n)
    found["has_time"] = ratio(sum(bool(record.moments) for record in records), n)
    found["time_order"] = _order(records)
    found["tree_similarity"] = main.similarity if main else 0.0
    found["text_similarity"] = _text_similarity(records)
    found["anchor_ratio"] = log1p(
        sum(record.anchor for record in records) / (1 + sum(record.plain for record in records))
    )
    found["link_groups"] = log1p(
        len({view.groups.rows[row] for row in view.rows if view.main_record(row) >= 0})
    )
    return found | _further(view, records)


def _further(view: PageView, records: Sequence[PageRecord]) -> dict[str, float]:
    """Return signals of the records that the paper does not have."""
    n = len(records)
    page_plain, page_anchor = sum(view.blocks.plain), sum(view.blocks.anchor)
    plain = sum(record.plain for record in records)
    return {
        "link_leads": ratio(sum(record.link_leads for record in records), n),
        "link_longest": ratio(sum(r.longest_anchor > r.longest_plain for r in records), n),
        "long_records": ratio(sum(r.longest_plain >= LONG_CHARS for r in records), n),
        "cut_records": ratio(sum(record.is_cut for record in records), n),
        "text_length_median": log1p(median([record.plain for record in records])),
        "longest_anchor_median": log1p(median([record.longest_anchor for record in records])),
        "main_share": ratio(plain + sum(record.anchor for record in records), page_plain + page_anchor),
        "main_plain_share": ratio(plain, page_plain),
        "one_record_share": ratio(max((record.plain for record in records), default=0), page_plain),
        "double_links": ratio(_double_links(view), n),
    }


def _record(view: PageView, node: int) -> PageRecord:
    tree, blocks = view.tree, view.blocks
    first, last = tree.first_texts[node], tree.last_texts[node]
    inside = blocks.within(first, last)
    plain, anchor = blocks.plain[inside.start : inside.stop], blocks.anchor[inside.start : inside.stop]
    links = tree.last_anchors[node] - tree.first_anchors[node]
    start, end = (bisect_left(view.moments, (at, float("-inf"))) for at in (first, last))
    return PageRecord(
        cells=max(1, tree.children(node)),
        lines=len(inside) + sum(chars // _LINE_CHARS for chars in plain),
        plain=sum(plain),
        anchor=sum(anchor),
        leaves=last - first + links,
        links=links,
        longest_plain=max(plain, default=0),
        longest_anchor=_longest_anchor(view, first, last),
        link_leads=_link_leads(view, first, last),
        is_cut=any(blocks.ends_cut[b] and blocks.plain[b] >= _CUT_CHARS for b in inside),
        moments=[minutes for _, minutes in view.moments[start:end]],
        words=_words(tree.texts[first : min(last, first + _MAX_WORD_TEXTS)]),
    )


def _words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(" ".join(texts).split())


def _longest_anchor(view: PageView, first: int, last: int) -> int:
    chars: Counter[int] = Counter()
    for text in range(first, last):
        if view.tree.text_anchors[text] >= 0:
            chars[view.tree.text_anchors[text]] += len(view.tree.texts[text])
    return max(chars.values(), default=0)


def _link_leads(view: PageView, first: int, last: int) -> bool:
    """Say whether the first text of some length is in a link."""
    texts = view.tree.texts
    lead = next((text for text in range(first, last) if len(texts[text]) >= _LEAD_CHARS), -1)
    return lead >= 0 and view.tree.text_anchors[lead] >= 0


def _order(records: Sequence[PageRecord]) -> float:
    """Return the time order by the first or by the last time of each record, whichever is clearer."""
    stamped = [record.moments for record in records if record.moments][:_MAX_MOMENTS]
    orders = time_order(moments[0] for moments in stamped), time_order(moments[-1] for moments in stamped)
    return max(orders, key=abs)


def _text_similarity(records: Sequence[PageRecord]) -> float:
    """Return the mean Jaccard similarity of the words of neighbouring records."""
    pairs = [(a.words, b.words) for a, b in pairwise(records) if a.words or b.words]
    return ratio(left_sum(len(a & b) / len(a | b) for a, b in pairs), len(pairs))


def _user_records(view: PageView) -> set[int]:
    """Return the records with a link to a person: by its URL, or in a column whose targets repeat."""
    columns: defaultdict[int, list[int]] = defaultdict(list)
    for row in view.rows:
        if view.main_record(row) >= 0:
            columns[view.groups.rows[row]].append(row)
    found = {view.main_record(row) for row in view.people} - {-1}
    for rows in columns.values():
        records = {view.main_record(row) for row in rows}
        if 1 < len({view.links.keys[row] for row in rows} - {view.key}) < len(records):
            found |= records
    return found


def _double_links(view: PageView) -> int:
    """Return the number of records with two links to one page."""
    targets = Counter((view.main_record(row), view.links.keys[row]) for row in view.rows)
    return len({record for (record, _), n in targets.items() if n > 1 and record >= 0})
