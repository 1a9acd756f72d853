"""Points in time as pages show them, as minutes that can be compared within one page."""

from __future__ import annotations

import re
from collections.abc import Iterable

from linkscore_scoring.features.layout.tree import PageTree

# Longer texts are prose, whose dates are not those of the page's records; chosen, not measured.
_MAX_CHARS = 120
# Texts of a page that are read for times: a bound of work. The largest of 24,518 stored pages has 23,000
# elements.
_MAX_TEXTS = 25_000
# Minutes; months of 31 days and years of 12 of them keep the order of dates, which is all that is compared.
_DAY, _MONTH, _YEAR = 1_440, 44_640, 535_680
# "Now" of relative times: later than any date that can be read.
_NOW = 3_000 * _YEAR
_DIGIT = re.compile(r"\d")
# A time of day without a date counts only in texts as short as a label; chosen, not measured.
_CLOCK_CHARS = 40
_ISO = re.compile(r"\b((?:19|20)\d\d)[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_NUMBERS = re.compile(r"\b(\d{1,2})([-/.])(\d{1,2})\2((?:19|20)?\d\d)\b")
_DAY_FIRST = re.compile(
    r"\b(\d{1,2})(?:st|nd|rd|th|\.)?[\s-]+(?:de |of )?([^\W\d_]{3,12})\.?,?[\s-]+(?:de )?((?:19|20)\d\d)\b"
)
_MONTH_FIRST = re.compile(r"\b([^\W\d_]{3,12})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+((?:19|20)\d\d)\b")
_CLOCK = re.compile(r"\b(\d{1,2}):(\d\d)(?::\d\d)?(?:\s*([ap])\.?m\b)?", re.IGNORECASE)
_AGO = re.compile(
    r"\b(?P<n>\d+|an?|one)\s+(?P<unit>[^\W\d_]+)\s+(?:ago|fa|atrás|назад|geleden|siden|temu)\b"
    r"|\b(?:vor|hace|il y a|há|för)\s+(?P<n2>\d+)\s+(?P<unit2>[^\W\d_]+)",
    re.IGNORECASE,
)
_DAYS_AGO = {
    "today": 0,
    "heute": 0,
    "hoy": 0,
    "hoje": 0,
    "oggi": 0,
    "сегодня": 0,
    "yesterday": 1,
} | dict.fromkeys(("gestern", "ayer", "ontem", "hier", "ieri", "вчера"), 1)
_DAY_WORD = re.compile(rf"\b({'|'.join(_DAYS_AGO)})\b", re.IGNORECASE)
_MONTHS = (
    ("jan", "ene", "gen", "янв"),
    ("feb", "fev", "fév", "фев"),
    ("mar", "mär", "мар"),
    ("apr", "abr", "avr", "апр"),
    ("may", "mai", "mag", "maj", "май", "мая"),
    ("jun", "juin", "giu", "июн"),
    ("jul", "juil", "lug", "июл"),
    ("aug", "ago", "aoû", "авг"),
    ("sep", "set", "сен"),
    ("oct", "okt", "ott", "out", "окт"),
    ("nov", "ноя"),
    ("dec", "dez", "dic", "déc", "дек"),
)
_UNITS = (
    (1, ("min", "мин")),
    (60, ("hour", "hr", "stund", "heure", "hora", "ora", "ore", "uur", "час")),
    (_DAY, ("day", "tag", "jour", "día", "dia", "giorn", "dag", "дн", "ден")),
    (7 * _DAY, ("week", "woche", "semain", "seman", "settiman", "нед")),
    (_MONTH, ("month", "monat", "mois", "mes", "mês", "maand", "мес")),
    (_YEAR, ("year", "jahr", "an", "año", "jaar", "год", "лет")),
)


def find_moments(tree: PageTree) -> list[tuple[int, float]]:
    """Return the points in time of a page: (number of texts before it, minutes), in document order."""
    known = {at: minutes for at, value in tree.moments if (minutes := minutes_of(value)) is not None}
    for at, text in enumerate(tree.texts[:_MAX_TEXTS]):
        if len(text) <= _MAX_CHARS and at not in known:
            minutes = minutes_of(text)
            if minutes is not None:
                known[at] = minutes
    return sorted(known.items())


def minutes_of(text: str) -> float | None:
    """Return the first point in time a text names, None if it names none."""
    if not _DIGIT.search(text) and " ago" not in text and not _DAY_WORD.search(text):
        return None
    day = _date(text)
    if day is None:
        return _relative(text)
    return day + _time_of_day(text)


def time_order(moments: Iterable[float]) -> float:
    """Return Kendall's tau of position and time, in [-1, 1]: 1 ascending, -1 descending, 0 below two."""
    values = list(moments)
    pairs = len(values) * (len(values) - 1) // 2
    signs = sum((b > a) - (b < a) for i, a in enumerate(values) for b in values[i + 1 :])
    return signs / pairs if pairs else 0.0


def _date(text: str) -> float | None:
    if found := _ISO.search(text):
        return _minutes(int(found[1]), int(found[2]), int(found[3]))
    if found := _NUMBERS.search(text):
        first, second, year = int(found[1]), int(found[3]), int(found[4])
        month_first = found[2] == "/" and first <= 12
        day, month = (second, first) if month_first else (first, second)
        return _minutes(year if year > 99 else 2_000 + year, month, day)
    if found := _MONTH_FIRST.search(text):
        return _minutes(int(found[3]), _month(found[1]), int(found[2]))
    if found := _DAY_FIRST.search(text):
        return _minutes(int(found[3]), _month(found[2]), int(found[1]))
    return None


def _minutes(year: int, month: int, day: int) -> float | None:
    return year * _YEAR + month * _MONTH + day * _DAY if 1 <= month <= 31 and day <= 31 else None


def _month(word: str) -> int:
    word = word.lower()
    return next((n for n, starts in enumerate(_MONTHS, 1) if word.startswith(starts)), 0)


def _time_of_day(text: str) -> float:
    found = _CLOCK.search(text)
    if found is None:
        return 0.0
    hour, minute, half = int(found[1]), int(found[2]), (found[3] or "").lower()
    return (hour % 12 + 12 * (half == "p") if half else hour) * 60 + minute


def _relative(text: str) -> float | None:
    if found := _AGO.search(text):
        number, unit = found["n"] or found["n2"], (found["unit"] or found["unit2"]).lower()
        size = next((size for size, starts in _UNITS if unit.startswith(starts)), 0)
        return _NOW - size * (int(number[:6]) if number.isdecimal() else 1) if size else None
    if found := _DAY_WORD.search(text):
        return _NOW - _DAY * (1 + _DAYS_AGO[found[1].lower()]) + _time_of_day(text)
    return 0.0 if len(text) <= _CLOCK_CHARS and _CLOCK.search(text) else None
