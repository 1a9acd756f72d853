"""How one made-up engine writes its pages: drawn once, the same on all of its pages."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

_SYLLABLES = (
    "ba",
    "cor",
    "del",
    "fi",
    "gra",
    "lo",
    "mer",
    "nu",
    "pel",
    "ros",
    "sti",
    "tan",
    "vel",
    "wix",
    "zo",
)
_ROWS = (("ul", "li"), ("ol", "li"), ("div", "div"), ("section", "article"), ("table", "tr"), ("div", "dl"))
_DATES = ("iso", "month", "dots", "slashes", "ago", "month", "iso")
_PEOPLE = ("/user/{}", "/members/{}/", "/profile.php?id={}", "/u/{}", "/people/{}", "")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ACTIONS = (("Reply", "Quote", "Report"), ("Antworten", "Zitieren"), ("Répondre", "Citer"), ("Ответить",), ())
_COUNTS = (("replies", "views"), ("Antworten", "Aufrufe"), ("answers", "votes"), ("comments",), ())
_MORES = ("Read more", "Continue reading", "Weiterlesen", "Lire la suite", "→", "")


@dataclass(frozen=True, slots=True)
class Style:
    """Choices of one engine; class names say nothing, and half of the engines have none."""

    row: tuple[str, str]
    classes: bool
    names: tuple[str, ...]
    title_tag: str
    date: str
    time_tag: bool
    person: str
    avatar: bool
    actions: tuple[str, ...]
    counts: tuple[str, ...]
    more: str
    excerpts: float
    post_titles: bool
    permalinks: str
    paragraphs: bool
    reply_form: bool
    new_form: bool
    comments: bool
    chrome: int
    sidebar: int
    semantic: bool
    leads_with_person: bool


def draw_style(rng: random.Random) -> Style:
    """Draw the choices of one engine."""
    return Style(
        row=rng.choice(_ROWS),
        classes=rng.random() < 0.6,
        names=tuple("".join(rng.choices(_SYLLABLES, k=2)) for _ in range(24)),
        title_tag=rng.choice(("h2", "h3", "h4", "div", "div", "span", "p", "strong")),
        date=rng.choice(_DATES),
        time_tag=rng.random() < 0.4,
        person=rng.choice(_PEOPLE),
        avatar=rng.random() < 0.4,
        actions=rng.choice(_ACTIONS),
        counts=rng.choice(_COUNTS),
        more=rng.choice(_MORES),
        excerpts=rng.choice((0.0, 0.0, 0.0, 1.0, 1.0, 4.0)),
        post_titles=rng.random() < 0.25,
        permalinks=rng.choice(("#", "#", "page#", "none", "none")),
        paragraphs=rng.random() < 0.6,
        reply_form=rng.random() < 0.4,
        new_form=rng.random() < 0.12,
        comments=rng.random() < 0.4,
        chrome=rng.randint(0, 14),
        sidebar=rng.choice((0, 0, 5, 10, 30)),
        semantic=rng.random() < 0.6,
        leads_with_person=rng.random() < 0.6,
    )


class Writer:
    """Writes the parts that all pages of an engine share; what they say is drawn."""

    def __init__(self, style: Style, rng: random.Random) -> None:
        self.style = style
        self.rng = rng
        self.number = rng.randint(1, 5_000)

    def tag(self, name: str, inside: str, nth: int = 0, attributes: str = "") -> str:
        """Return an element; `nth` chooses its class name, 0 is none."""
        css = f' class="{self.style.names[nth % 24]}"' if nth and self.style.classes else ""
        return f"<{name}{css}{attributes}>{inside}</{name}>"

    def words(self, low: int, high: int) -> str:
        """Return some made-up words."""
        rng = self.rng
        words = ["".join(rng.choices(_SYLLABLES, k=rng.randint(1, 3))) for _ in range(rng.randint(low, high))]
        return " ".join(words).capitalize()

    def text(self, mean: float) -> str:
        """Return long text of about `mean` words, some of it marked up."""
        rng, parts = self.rng, []
        left = max(4, int(rng.lognormvariate(0, 0.9) * mean))
        while left > 0:
            n = min(left, rng.randint(8, 60))
            left -= n
            parts.append(self.words(n, n) + ".")
            if rng.random() < 0.08:
                parts[-1] += f' <a href="http://{rng.choice(_SYLLABLES)}.test/x">{self.words(1, 4)}</a>'
        if self.style.paragraphs:
            return "".join(f"<p>{part}</p>" for part in parts)
        return "<br>".join(parts)

    def date(self, days: float) -> str:
        """Return the date `days` ago."""
        rng, style = self.rng, self.style
        year, rest = divmod(int(days), 360)
        y, m, d = 2026 - year, 12 - rest // 30, 28 - rest % 28
        clock = f" {rng.randint(0, 23):02}:{rng.randint(0, 59):02}" if rng.random() < 0.5 else ""
        shown = {
            "iso": f"{y}-{m:02}-{d:02}{clock}",
            "month": f"{_MONTHS[m - 1]} {d}, {y}{clock}",
            "dots": f"{d:02}.{m:02}.{y}{clock}",
            "slashes": f"{m}/{d}/{y}{clock}",
            "ago": f"{int(days) + 1} days ago",
        }[style.date]
        if style.time_tag:
            return f'<time datetime="{y}-{m:02}-{d:02}T12:00">{shown}</time>'
        return self.tag("span", shown, 3) if rng.random() < 0.5 else shown

    def person(self, who: int) -> str:
        """Return the name of somebody, a link where the engine has such."""
        name = "".join(random.Random(who).choices(_SYLLABLES, k=3)).capitalize()
        if not self.style.person:
            return self.tag("b", name, 4)
        avatar = '<img src="/a.png">' if self.style.avatar else ""
        href = self.style.person.format(who)
        return (f'<a href="{href}">{avatar}</a>' if avatar else "") + f'<a href="{href}">{name}</a>'

    def page(self, title: str, content: str) -> str:
        """Return a page: content between menus, lists beside it and a foot."""
        style, rng = self.style, self.rng
        items = "".join(f'<li><a href="/m{i}">{self.words(1, 2)}</a></li>' for i in range(style.chrome))
        menu = self.tag("nav" if style.semantic else "div", f"<ul>{items}</ul>", 20) if items else ""
        side = "".join(
            f'<li><a href="/{rng.randint(1, 9999)}-{i}">{self.words(2, 8)}</a></li>'
            for i in range(style.sidebar)
        )
        side = f"<b>{self.words(1, 2)}</b><ul>{side}</ul>"
        beside = self.tag("aside" if style.semantic else "div", side, 21)
        about = f'<a href="/about">{self.words(1, 2)}</a> <a href="/terms">{self.words(1, 3)}</a>'
        foot = f"{about} {self.words(3, 9)}"
        body = [
            menu,
            self.tag("main" if style.semantic else "div", content, 22),
            beside if style.sidebar else "",
            self.tag("footer" if style.semantic else "div", foot, 23),
        ]
        return f"<html><head><title>{title}</title></head><body>{''.join(body)}</body></html>"

    def rows(self, rows: Sequence[str], nth: int, ids: Sequence[str] = ()) -> str:
        """Return records as the engine writes them."""
        outer, inner = self.style.row
        made = [
            self.tag(inner, row, nth, f' id="{ids[i]}"' if i < len(ids) else "") for i, row in enumerate(rows)
        ]
        return self.tag(outer, "".join(made), nth + 1)

    def cell(self, inside: str, nth: int = 0) -> str:
        """Return a part of a record, in the element that the engine's rows need."""
        inner = self.style.row[1]
        return self.tag("td" if inner == "tr" else "dd" if inner == "dl" else "div", inside, nth)
