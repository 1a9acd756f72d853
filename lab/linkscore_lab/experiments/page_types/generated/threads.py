"""Thread pages of made-up engines: posts of a forum, question and answers, article and comments."""

from __future__ import annotations

from linkscore_lab.experiments.page_types.generated.lists import pager
from linkscore_lab.experiments.page_types.generated.style import Writer


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
