"""Index pages of made-up engines: threads of a board, posts of a blog, boards of a forum."""

from __future__ import annotations

from linkscore_lab.experiments.page_types.generated.style import Writer


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
