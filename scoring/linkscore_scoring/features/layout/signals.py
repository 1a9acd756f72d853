"""Signals of the kind of page: what tells an index page from a thread page in any engine."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import log1p, sqrt
from typing import Any

from linkscore_scoring.features.layout.moments import find_moments, time_order
from linkscore_scoring.features.layout.regions import MAX_COMPARED, Regions, find_regions, link_groups
from linkscore_scoring.features.layout.tree import (
    LONG_CHARS,
    Blocks,
    PageTree,
    boilerplate,
    read_tree,
    text_blocks,
)
from linkscore_scoring.features.types import Links, PageFeatures
from linkscore_scoring.features.walk import TagTable
from linkscore_scoring.sums import left_sum

# Characters of a text that is surely no excerpt or label, and from which a text that ends in "..." is an
# excerpt; chosen with the stored sites in view (research/notebook/page-types.md), not searched for.
_VERY_LONG_CHARS, _CUT_CHARS = 250, 60
# Times put in order, whose cost is quadratic: a bound of work.
_MAX_MOMENTS = 60
# Tags that mark up prose.
_MARKS = ("p", "pre", "blockquote")


def of_tags(
    pieces: Iterable[tuple[str, str]], tags: TagTable, page: PageFeatures, anchors: Sequence[int]
) -> list[float]:
    """Return the signals of a page from its tags, each with the text after it (`walk.cut_tags`).

    `anchors` is the number of the anchor of each row of its links. Cost O(elements + texts + links).
    """
    return list(measure(PageView.of(read_tree(pieces, tags), page.links, anchors, page.key)).values())


def of_outline(outline: Mapping[str, Any], page: PageFeatures, anchors: Sequence[int]) -> list[float]:
    """Return the signals of a page from the outline of a compiled reader."""
    return list(measure(PageView.of(PageTree.of(**outline), page.links, anchors, page.key)).values())


def measure(view: PageView) -> dict[str, float]:
    """Return the signals of a page by name; counts and lengths as ln(1 + x), the others in [-1, 1].

    Jiang 2013, table 1, for those of `record_signals` up to ``link_groups``; height is lines of 80 characters
    and blocks, width 1 / children.
    """
    titles = find_titles(view)
    return {
        **record_signals(view),
        **text_signals(view),
        **title_signals(view, titles),
        **time_signals(view, titles),
        **link_signals(view, titles),
    }


def text_signals(view: PageView) -> dict[str, float]:
    """Return the signals of the content."""
    blocks, tree = view.blocks, view.tree
    plain, anchor = sum(blocks.plain), sum(blocks.anchor)
    cut = [cut for cut, chars in zip(blocks.ends_cut, blocks.plain, strict=True) if chars >= _CUT_CHARS]
    tags = Counter(step.name for step, around in zip(tree.steps, view.around, strict=True) if not around)
    marks = sum(tags[name] for name in _MARKS) + len(tree.breaks)
    return {
        "plain_chars": log1p(plain),
        "anchor_chars": log1p(anchor),
        "links": log1p(len(view.rows)),
        "anchor_share": ratio(anchor, plain + anchor),
        "long_share": ratio(sum(chars for chars in blocks.plain if chars >= LONG_CHARS), plain),
        "very_long_share": ratio(sum(chars for chars in blocks.plain if chars >= _VERY_LONG_CHARS), plain),
        "longest_text": log1p(max(blocks.plain, default=0)),
        "long_texts": log1p(sum(chars >= LONG_CHARS for chars in blocks.plain)),
        "cut_share": ratio(sum(cut), len(cut) + 1),
        "text_marks": log1p(marks),
        "mark_density": ratio(marks + tags["code"], sum(tags.values())),
        "textarea": float(tags["textarea"] > 0),
        "times": log1p(len(view.moments)),
        "time_density": ratio(1_000 * len(view.moments), plain + anchor),
        "time_order_page": time_order([minutes for _, minutes in view.moments[:_MAX_MOMENTS]]),
    }


_PERSON = re.compile(r"user|member|profile|author|people|[?&;]u=", re.IGNORECASE)


@dataclass(slots=True)
class PageView:
    """One page as a tree, with what was found in it. All positions are of content, not of boilerplate."""

    tree: PageTree  # the elements
    around: list[bool]  # whether each element is boilerplate
    regions: Regions  # regions of records, and the group of each row of `links`; of the whole page
    groups: list[int]
    blocks: Blocks  # text blocks
    moments: list[tuple[int, float]]  # (number of texts before it, minutes) of each point in time
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
        around = boilerplate(tree)
        regions = find_regions(tree, around)
        moments = [(at, m) for at, m in find_moments(tree) if not _is_around(tree, around, at)]
        groups = link_groups(tree, regions, anchors)
        view = cls(tree, around, regions, groups, text_blocks(tree, around), moments, links, anchors, key)
        view._sort_links()
        return view

    def element(self, row: int) -> int:
        """Return the element of a link."""
        return self.tree.anchor_nodes[self.anchors[row]]

    def text_of(self, row: int) -> int:
        """Return how many texts stand before a link."""
        return self.tree.first_texts[self.element(row)]

    def main_record(self, row: int) -> int:
        """Return the record of the main region a link stands in, -1 if it stands in none."""
        node = self.element(row)
        is_main = self.regions.has_main and self.regions.region_of[node] == 0
        return self.regions.record_of[node] if is_main else -1

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
        self.people = {row for row in self.rows if _names_person(urls[row])} - self.own


def _names_person(url: str) -> bool:
    path = url.find("/", len("https://"))
    return path >= 0 and _PERSON.search(url, path) is not None


def _is_around(tree: PageTree, around: Sequence[bool], text: int) -> bool:
    return text < len(tree.text_nodes) and around[tree.text_nodes[text]]


def ratio(part: float, whole: float) -> float:
    """Return a share, 0 of nothing."""
    return part / whole if whole else 0.0


def spread(name: str, values: Sequence[float]) -> dict[str, float]:
    """Return ln(1 + x) of the largest value, of the mean and of the standard deviation."""
    if not values:
        return {f"{name}_max": 0.0, f"{name}_avg": 0.0, f"{name}_sd": 0.0}
    mean = left_sum(values) / len(values)
    deviation = sqrt(left_sum((value - mean) ** 2 for value in values) / len(values))
    return {f"{name}_max": log1p(max(values)), f"{name}_avg": log1p(mean), f"{name}_sd": log1p(deviation)}


def median(values: Sequence[float]) -> float:
    """Return the upper median."""
    return sorted(values)[len(values) // 2] if values else 0.0


# Characters of a line, for the height of a record without a renderer.
_LINE_CHARS = 80
# Bounds of work for one record and one page: texts whose words are compared, times that are put in order
# (whose cost is quadratic).
_MAX_WORD_TEXTS, _RECORD_MOMENTS = 60, 50
# Characters from which a text is more than a label, and from which a text that ends in "..." is an excerpt;
# chosen with the stored sites in view (research/notebook/page-types.md), not searched for.
_LEAD_CHARS, _RECORD_CUT_CHARS = 12, 40


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
    found["link_groups"] = log1p(len({view.groups[row] for row in view.rows if view.main_record(row) >= 0}))
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
        is_cut=any(blocks.ends_cut[b] and blocks.plain[b] >= _RECORD_CUT_CHARS for b in inside),
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
    stamped = [record.moments for record in records if record.moments][:_RECORD_MOMENTS]
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
            columns[view.groups[row]].append(row)
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
_TITLE_MOMENTS = 200
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
    """Return what points in time belong to: a headline, long text, both, neither; or a place on this page."""
    headlines = sorted(view.text_of(row) for row in titles.rows)
    longs = [s for s, chars in zip(view.blocks.starts, view.blocks.plain, strict=True) if chars >= LONG_CHARS]
    inner = sorted(view.tree.first_texts[view.tree.anchor_nodes[anchor]] for anchor in view.inner)
    counts = dict.fromkeys(("headline", "text", "both", "neither", "inner"), 0)
    for at, _ in view.moments[:_TITLE_MOMENTS]:
        if at < len(view.tree.text_nodes):
            first, last = _surrounding(view, at, headlines, longs)
            kind = (_any(headlines, first, last), _any(longs, first, last))
            counts[_KINDS[kind]] += 1
            counts["inner"] += _any(inner, first, last)
    whole = min(_TITLE_MOMENTS, len(view.moments)) + 1
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


# Longer texts are prose in which such a word may stand by chance: of what readers do to a post, of "read
# more" (which may quote the title), of what lists count. All chosen with the stored sites in view
# (research/notebook/page-types.md).
_ACTION_CHARS, _MORE_CHARS, _COUNT_CHARS = 30, 120, 60
# Words from which an anchor reads like a title; chosen, not measured.
_SENTENCE_WORDS = 3
_PAGER = re.compile(r"^\W*\d{1,4}\W*$")
_ACTION = re.compile(
    r"^\W*(?:reply|quote|report|like|share|permalink|upvote|flag|answer"
    r"|antworten|zitieren|melden|teilen|kommentieren|répondre|citer|signaler|responder|citar|denunciar"
    r"|comentar|rispondi|cita|ответить|цитата|цитировать|жалоба|поделиться|beantwoorden|odpowiedz|cytuj)\b",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"continue reading|read (?:more|on|the rest|full)|\bmore\b|weiterlesen|mehr (?:lesen|erfahren)"
    r"|lire la suite|en savoir plus|leer m[aá]s|seguir leyendo|leia mais|continua a leggere|leggi tutto"
    r"|подробнее|читать (?:далее|дальше|полностью)|lees (?:verder|meer)|czytaj",
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


def link_signals(view: PageView, titles: Titles) -> dict[str, float]:
    """Return the signals of links."""
    return {
        **_column_signals(view),
        **_headline_signals(view, titles),
        **_people_signals(view),
        **_word_signals(view),
        "inner_links": log1p(len(view.inner)),
        "own_links": log1p(len(view.own)),
        "pagers": log1p(sum(_PAGER.match(view.links.anchors[row]) is not None for row in view.rows)),
    }


def _column_signals(view: PageView) -> dict[str, float]:
    """Return signals of the group with the most anchor text: what an index page lists."""
    anchors, groups = view.links.anchors, defaultdict[int, list[int]](list)
    for row in view.rows:
        if row not in view.own:
            groups[view.groups[row]].append(row)
    column = max(groups.values(), key=lambda rows: sum(len(anchors[row]) for row in rows), default=[])
    n, chars = len(column), sum(len(anchors[row]) for row in column)
    text = sum(view.blocks.plain) + sum(view.blocks.anchor)
    long = sum(plain for plain in view.blocks.plain if plain >= LONG_CHARS)
    return {
        "column_links": log1p(n),
        "column_anchor": log1p(ratio(chars, n)),
        "column_share": ratio(chars, sum(len(anchors[row]) for row in view.rows)),
        "column_text_share": ratio(chars, text),
        "column_distinct": ratio(len({view.links.keys[row] for row in column}), n),
        "column_sentences": ratio(sum(len(anchors[row].split()) >= _SENTENCE_WORDS for row in column), n),
        "column_in_main": float(bool(column) and view.main_record(column[0]) >= 0),
        "column_to_long": log1p(chars) - log1p(long),
    }


def _headline_signals(view: PageView, titles: Titles) -> dict[str, float]:
    in_main = [row for row in titles.rows if view.main_record(row) >= 0]
    records = {view.main_record(row) for row in in_main}
    return {
        "headline_records": _record_share(view, records),
        "headline_records_count": log1p(len(records)),
        "headline_distinct": ratio(len({view.links.keys[row] for row in in_main}), len(in_main)),
    }


def _people_signals(view: PageView) -> dict[str, float]:
    """Return whether records name people, and whether always the same one."""
    people = [row for row in view.people if view.main_record(row) >= 0]
    records = {view.main_record(row) for row in people}
    named = {view.links.keys[row] for row in people}
    return {
        "people_records": _record_share(view, records),
        "people_distinct": ratio(len(named), len(records)),
        "one_person": float(len(named) == 1 and len(records) >= 2),
        "people": log1p(len({view.links.keys[row] for row in view.people})),
        "is_person": float(_PERSON_PAGE.search(view.key) is not None),
    }


def _word_signals(view: PageView) -> dict[str, float]:
    """Return signals of words in some languages: what readers do to posts, "read more", what lists count."""
    actions = _rows_saying(view, _ACTION, _ACTION_CHARS)
    mores = _rows_saying(view, _MORE, _MORE_CHARS)
    inner = {view.regions.record_of[node] for node in map(view.tree.anchor_nodes.__getitem__, view.inner)
             if view.regions.has_main and view.regions.region_of[node] == 0}  # fmt: skip
    counts = [
        at
        for at, text in enumerate(view.tree.texts)
        if len(text) < _COUNT_CHARS and not view.around[view.tree.text_nodes[at]] and _COUNT.search(text)
    ]
    return {
        "actions": log1p(len(actions)),
        "action_records": _record_share(view, {view.main_record(row) for row in actions}),
        "mores": log1p(len(mores)),
        "more_records": _record_share(view, {view.main_record(row) for row in mores}),
        "counts": log1p(len(counts)),
        "count_records": _count_records(view, counts),
        "inner_records": _record_share(view, inner),
    }


def _rows_saying(view: PageView, words: re.Pattern[str], most: int) -> list[int]:
    anchors = view.links.anchors
    return [row for row in view.rows if len(anchors[row]) < most and words.search(anchors[row])]


def _record_share(view: PageView, records: Iterable[int]) -> float:
    """Return the share of the records of the main region that are among `records`."""
    n = min(MAX_COMPARED, len(view.regions.found[0].records)) if view.regions.has_main else 0
    return ratio(sum(0 <= record < n for record in set(records)), n)


def _count_records(view: PageView, texts: list[int]) -> float:
    if not view.regions.has_main:
        return 0.0
    tree = view.tree
    nodes = view.regions.found[0].records
    return _record_share(
        view,
        [
            i
            for i, node in enumerate(nodes)
            if bisect_left(texts, tree.last_texts[node]) > bisect_left(texts, tree.first_texts[node])
        ],
    )


SIGNALS = tuple(measure(PageView.of(PageTree(), Links(), [], "")))
"""Names of the signals, in their order."""
