"""Pages of made-up engines: many templates of few pages, where stored sites are few of many.

A style is drawn once for an engine and is the same on all of its pages: index pages (threads of a board,
posts of a blog, boards of a forum), thread pages (posts, question and answers, article and comments), and
pages that neither are threads nor lead to them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from linkscore_research.page_types.examples import Example
from linkscore_research.page_types.train import GENERATED
from linkscore_scoring.features.html import Extractor

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


def thread_list(w: Writer) -> str:
    """Return a list of threads, the newest first: titles, people, times, counts and excerpts."""
    rng = w.rng
    n = rng.choice((1, 1, 2, 3, 5, 10, 20, 25, 40))
    start = rng.uniform(0, 900)
    ages = sorted(start + rng.uniform(0, 300) for _ in range(n))
    rows = [_thread(w, age) for age in ages]
    head = w.tag("h1", w.words(1, 4)) if rng.random() < 0.8 else ""
    about = w.tag("p", w.words(5, 14)) if rng.random() < 0.3 else ""
    form = '<form><input name="title"><textarea name="t"></textarea></form>' if w.style.new_form else ""
    return w.page(w.words(1, 4), head + about + form + w.rows(rows, 1) + pager(w))


def board_list(w: Writer) -> str:
    """Return a list of boards with what they are about and their last posts."""
    rows = []
    for i in range(w.rng.choice((2, 4, 8, 15))):
        title = w.tag(w.style.title_tag, f'<a href="/b{i}/">{w.words(1, 5)}</a>', 5)
        cells = [w.cell(title + w.words(4, 16)), w.cell(f"{w.rng.randint(1, 9999)}")]
        if w.rng.random() < 0.8:
            last = f'<a href="/t/{w.rng.randint(1, 9999)}">{w.words(2, 6)}</a> {w.date(w.rng.uniform(0, 60))}'
            cells.append(w.cell(f"{last} {w.person(w.rng.randint(1, 99))}", 6))
        rows.append("".join(cells))
    return w.page(w.words(1, 3), w.tag("h1", w.words(1, 3)) + w.rows(rows, 1))


def pager(w: Writer) -> str:
    """Return links to further pages, or none."""
    if w.rng.random() < 0.5:
        return ""
    links = " ".join(f'<a href="?page={i}">{i}</a>' for i in range(2, w.rng.randint(3, 9)))
    return w.tag("div", f"1 {links}", 17)


def _thread(w: Writer, age: float) -> str:
    style, rng = w.style, w.rng
    url = f"/t/{rng.randint(1, 99999)}"
    title = w.tag(style.title_tag, f'<a href="{url}">{w.words(2, 9)}</a>', 5)
    person, date = w.person(rng.randint(1, 300)), w.date(age)
    counts = " ".join(f"{rng.randint(0, 999)} {name}" for name in style.counts)
    excerpt = ""
    if style.excerpts:
        cut = "" if style.excerpts > 1 else " …"
        more = f' <a href="{url}">{style.more}</a>' if style.more else ""
        excerpt = w.cell(
            w.tag("p", w.words(int(20 * style.excerpts), int(50 * style.excerpts)) + cut + more), 7
        )
    meta = w.cell(f"{person} {date}", 8) + (w.cell(counts, 9) if counts else "")
    return (meta + w.cell(title) + excerpt) if rng.random() < 0.1 else w.cell(title) + excerpt + meta


def posts(w: Writer) -> str:
    """Return the posts of a thread, the oldest first."""
    n = w.rng.choice((1, 1, 2, 2, 3, 5, 8, 10, 20))
    numbers = [str(w.rng.randint(100, 99999)) for _ in range(n)]
    rows = [_post(w, age, number) for age, number in zip(_ages(w, n), numbers, strict=True)]
    title = w.words(2, 9)
    return w.page(title, _title(w, title) + w.rows(rows, 1, [f"p{x}" for x in numbers]) + pager(w) + _form(w))


def article(w: Writer) -> str:
    """Return an article or a question with comments or answers, or without."""
    title = w.words(3, 10)
    n = w.rng.choice((0, 0, 1, 2, 4, 9)) if w.style.comments else w.rng.choice((0, 1, 3))
    ages = _ages(w, n + 1)
    meta = w.cell(f"{w.person(w.rng.randint(1, 99))} {w.date(ages[0])}", 8)
    body = w.cell(w.text(180), 10)
    head = _title(w, title)
    text = head + (meta + body if w.style.leads_with_person else body + meta)
    numbers = [str(w.rng.randint(100, 99999)) for _ in range(n)]
    rows = [_post(w, age, number) for age, number in zip(ages[1:], numbers, strict=True)]
    answers = (
        w.tag("h3", f"{n} {w.words(1, 1)}") + w.rows(rows, 1, [f"c{x}" for x in numbers]) if rows else ""
    )
    return w.page(title, w.tag("article" if w.style.semantic else "div", text, 11) + answers + _form(w))


def _ages(w: Writer, n: int) -> list[float]:
    start = w.rng.uniform(10, 900)
    return sorted((start - w.rng.uniform(0, min(10, start)) for _ in range(n)), reverse=True)


def _title(w: Writer, title: str) -> str:
    linked = w.rng.random() < 0.2
    return w.tag(
        w.rng.choice(("h1", "h1", "h2")), f'<a href="/t/{w.number}">{title}</a>' if linked else title, 12
    )


def _post(w: Writer, age: float, number: str) -> str:
    style, rng = w.style, w.rng
    url = {"#": f"#p{number}", "page#": f"/t/{w.number}#p{number}", "none": ""}[style.permalinks]
    date = w.date(age)
    date = f'<a href="{url}">{date}</a>' if url else date
    title = (
        w.tag("h3", f'<a href="{url}">{w.words(3, 8)}</a>' if url else w.words(3, 8))
        if style.post_titles
        else ""
    )
    who = w.person(rng.randint(1, 99))
    facts = w.tag("div", f"{w.words(1, 2)}: {rng.randint(1, 999)}", 13) if rng.random() < 0.5 else ""
    acts = " ".join(f'<a href="/do/{i}/{number}">{name}</a>' for i, name in enumerate(style.actions))
    meta = w.cell(f"{who} {facts} {date}" if style.leads_with_person else f"{date} {who}", 8)
    body = w.cell(title + w.text(45), 10) + (w.cell(acts, 14) if acts else "")
    return meta + body if rng.random() < 0.9 else body + meta


def _form(w: Writer) -> str:
    if not w.style.reply_form:
        return ""
    return f'<form><textarea name="t"></textarea><input type="submit" value="{w.words(1, 2)}"></form>'


def stub(w: Writer) -> str:
    """Return a page that says hardly anything: moved, not found, no access."""
    link = f'<a href="/t/{w.number}">{w.words(1, 8)}</a>' if w.rng.random() < 0.7 else ""
    inside = f"<p>{w.words(0, 10) if w.rng.random() < 0.6 else ''} {link}</p>"
    return w.page("-", inside) if w.rng.random() < 0.5 else f"<html><body>{inside}</body></html>"


def form(w: Writer) -> str:
    """Return a form to log in, to search or to write."""
    rows = [f'<label>{w.words(1, 3)}</label><input name="f{i}">' for i in range(w.rng.randint(1, 12))]
    area = "<textarea></textarea>" if w.rng.random() < 0.3 else ""
    inside = "".join(w.tag("p", row) for row in rows) + area
    return w.page("-", w.tag("h1", w.words(1, 3)) + f"<form>{inside}</form>" + w.tag("p", w.words(3, 30)))


def profile(w: Writer) -> str:
    """Return facts about somebody."""
    facts = [f"{w.words(1, 2)}: {w.words(1, 3)}" for _ in range(w.rng.randint(3, 15))]
    facts += [f"{w.words(1, 1)}: {w.date(w.rng.uniform(0, 2000))}" for _ in range(2)]
    links = f'<a href="/find?by={w.number}">{w.words(2, 5)}</a>'
    about = w.text(30) if w.rng.random() < 0.3 else ""
    return w.page("-", w.tag("h1", w.words(1, 2)) + w.rows([w.cell(f) for f in facts], 1) + links + about)


def people(w: Writer) -> str:
    """Return a list of people."""
    rows = []
    for _ in range(w.rng.choice((5, 20, 50))):
        cells = [w.person(w.rng.randint(1, 999)), str(w.rng.randint(0, 999))]
        cells += [w.date(w.rng.uniform(0, 3000))] if w.rng.random() < 0.7 else []
        rows.append("".join(w.cell(c) for c in cells))
    return w.page("-", w.tag("h1", w.words(1, 2)) + w.rows(rows, 1))


def word_list(w: Writer) -> str:
    """Return many short links: tags, letters, categories."""
    rows = [
        w.cell(f'<a href="/w/{i}">{w.words(1, 2)}</a> {w.rng.randint(1, 99)}')
        for i in range(w.rng.choice((10, 40, 90)))
    ]
    return w.page("-", w.tag("h1", w.words(1, 2)) + w.rows(rows, 1))


def link_list(w: Writer) -> str:
    """Return many links to pages of an encyclopedia, without people and times."""
    rows = [w.cell(f'<a href="/wiki/{i}">{w.words(1, 4)}</a>') for i in range(w.rng.choice((8, 40, 150)))]
    about = w.tag("p", w.words(10, 60)) if w.rng.random() < 0.5 else ""
    return w.page("-", w.tag("h1", w.words(1, 4)) + about + w.rows(rows, 1))


def document(w: Writer) -> str:
    """Return help, rules or an article of an encyclopedia: long text that nobody signs."""
    parts = []
    for i in range(w.rng.randint(1, 8)):
        parts.append(w.tag("h2", w.words(1, 4), attributes=f' id="s{i}"') + w.text(120))
        if w.rng.random() < 0.5:
            items = "".join(
                f'<li><a href="/wiki/{j}">{w.words(1, 3)}</a> {w.words(2, 9)}</li>' for j in range(6)
            )
            parts.append(f"<ul>{items}</ul>")
    toc = (
        "".join(f'<li><a href="#s{i}">{w.words(1, 4)}</a></li>' for i in range(3))
        if w.rng.random() < 0.3
        else ""
    )
    return w.page("-", w.tag("h1", w.words(1, 4)) + (f"<ul>{toc}</ul>" if toc else "") + "".join(parts))


def changes(w: Writer) -> str:
    """Return changes of documents: times, people, links named by one or two words, remarks."""
    rows = []
    age = w.rng.uniform(0, 90)
    for i in range(w.rng.choice((3, 20, 60))):
        age += w.rng.uniform(0, 2)
        tools = f'(<a href="/d{i}?diff">diff</a> | <a href="/d{i}?h">hist</a>)'
        page = f'<a href="/d{i}">{w.words(1, 3)}</a> {tools}'
        rows.append(w.cell(f"{page} {w.date(age)} {w.person(w.rng.randint(1, 40))} ({w.words(0, 8)})"))
    return w.page("-", w.tag("h1", w.words(1, 3)) + w.rows(rows, 1))


# Engines the shipped weights were trained with (research/notebook/page-types.md).
ENGINES = 150
# Of the engines; another one gives other pages and other weights.
_SEED = 7
_MAKERS: dict[str, tuple[Callable[[Writer], str], ...]] = {
    "INDEX": (thread_list, thread_list, thread_list, board_list),
    "THREAD": (posts, posts, article, article),
    "OTHER": (
        stub, form, profile, people, word_list, link_list,
        document, changes,
    ),
}  # fmt: skip


def generated_pages(engines: int = ENGINES) -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, name of the sort of page, URL and HTML of pages of `engines` engines; always the same ones.

    URLs say nothing, but that lists of one person's threads and profiles stand below a person's URL as often
    as not.
    """
    rng = random.Random(_SEED)
    for n in range(engines):
        style = draw_style(rng)
        for kind, makers in _MAKERS.items():
            for i, maker in enumerate(makers):
                writer = Writer(style, random.Random(f"{n}/{kind}/{i}"))
                url = f"http://e{n}.test/{'t/' if kind == 'THREAD' else 'x/'}{writer.number}"
                if maker is profile and style.person:
                    url = f"http://e{n}.test{style.person.format(writer.number)}"
                yield kind, maker.__name__, url, maker(writer)
        if style.person:
            writer = Writer(style, random.Random(f"{n}/own"))
            url = f"http://e{n}.test{style.person.format(writer.number)}"
            yield "OTHER", "own_threads", url, thread_list(writer)


def generated_examples(engines: int = ENGINES) -> list[Example]:
    """Return the generated pages as examples of one site."""
    extractor, found = Extractor(), []
    for kind, name, url, html in generated_pages(engines):
        page = extractor.extract(html.encode(), url=url, content_type="text/html; charset=utf-8", layout=True)
        if page.layout is not None:
            found.append(Example(GENERATED, name, name, kind, url, 1.0, tuple(page.layout)))
    return found
