"""Signals of links: the column with the longest anchors, people, and words that say what a link is for."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from math import log1p

from linkscore_scoring.features.layout.regions import MAX_COMPARED
from linkscore_scoring.features.layout.text_blocks import LONG_CHARS
from linkscore_scoring.features.layout.title_signals import Titles
from linkscore_scoring.features.layout.view import PageView, ratio

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
            groups[view.groups.rows[row]].append(row)
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
