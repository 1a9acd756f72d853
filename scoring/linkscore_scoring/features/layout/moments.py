"""Points in time as pages show them."""

from __future__ import annotations

import re

from linkscore_scoring.features.layout.tree import PageTree

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
