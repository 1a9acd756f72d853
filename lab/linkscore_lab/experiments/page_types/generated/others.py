"""Pages of made-up engines that neither are threads nor lead to them."""

from __future__ import annotations

from linkscore_lab.experiments.page_types.generated.style import Writer


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
