"""A site of the synthetic corpus: what it is about, drawn once, and its pages as they follow from its traits.

Everything is built when the site is: items in sections, lists of them by section, tag, month and author in
several orders, and what every real site has besides. A page is its title, its HTML and its type.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import NamedTuple
from urllib.parse import urlsplit

from linkscore_lab.datasets.demo_site.layout import link, list_of, paragraphs, with_query
from linkscore_lab.datasets.site import Reply, identity
from linkscore_research.zoo.traits import SiteTraits, draw_traits
from linkscore_scoring.hashing import hash64

# How much of an item an excerpt shows, in characters: what blogs and search results show.
_EXCERPT = 160
# Newest items on the front page, and neighbours in a bar of pages; chosen, not measured.
_NEWEST, _BAR = 6, 4
_MONTHS, _TAGS = 24, 20  # of all items of a site; chosen, not measured
_SYLLABLES = [a + b for a in "bdfghklmnprst" for b in "aeio"]
_HTML = {"Content-Type": "text/html; charset=utf-8"}
_GONE = (
    "What you are looking for has been moved or taken away, try to search for it or start at the front page"
)


class _Page(NamedTuple):
    """A page without the frame that all pages share; `canonical` is a path, empty for none."""

    type: str
    title: str
    content: str
    canonical: str = ""
    old: bool = False


@dataclass(slots=True)
class _Item:
    number: int
    section: int
    title: str
    texts: list[str]
    author: int
    tags: tuple[int, ...]
    month: int
    path: str = ""


class _Words:
    """Texts of made-up words: none of them repeats another by chance."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._words = ["".join(rng.choices(_SYLLABLES, k=rng.choice((1, 2, 2, 3)))) for _ in range(1_500)]

    def phrase(self, words: int) -> str:
        """Return so many words."""
        return " ".join(self._rng.choices(self._words, k=words))

    def texts(self, chars: float) -> list[str]:
        """Return paragraphs of so many characters altogether, none below 25, 100 to 500 each."""
        parts, left = [], round(chars)
        while left >= 25:
            size = min(left, self._rng.randint(100, 500))
            parts.append(self.phrase(size // 4 + 8)[:size])
            left -= size
        return parts


class SyntheticSite:
    """A generated site of some hundred pages that differs from every other in what `SiteTraits` names.

    Wanted are `wanted_types`. Labels are page types: ``item``, ``item_part``, ``author``, ``hidden``;
    ``home``, ``index``, ``list``, ``tag``, ``month``, the last three with ``_variant`` too; ``copy``,
    ``login``, ``calendar``, ``gone``, ``about``.

    Parameters
    ----------
    seed
        Same seed, same site.
    traits
        Instead of those drawn from the seed.
    """

    def __init__(self, seed: int, traits: SiteTraits | None = None) -> None:
        self.traits = traits or draw_traits(seed)
        self.name = f"zoo_{seed}"
        self._origin = f"http://zoo{seed}.test"
        self._pages: dict[str, _Page] = {}
        for language in range(self.traits.languages):
            _Edition(
                self._pages, self.traits, f"{seed} {language}", f"/l{language}" if language else ""
            ).build()

    @property
    def entry(self) -> str:
        """The front page."""
        return f"{self._origin}/"

    @property
    def wanted_types(self) -> frozenset[str]:
        """Page types that carry what people come for."""
        authors = {"author"} if self.traits.authors_wanted else set()
        return frozenset({"item", "item_part", "hidden"} | authors)

    def labels(self) -> Mapping[str, str]:
        """Return the page type of every page by identity."""
        return {identity(f"{self._origin}{path}"): page.type for path, page in self._pages.items()}

    def urls(self) -> list[str]:
        """Return the URL of every page, the front page first."""
        return [f"{self._origin}{path}" for path in self._pages]

    def respond(self, url: str) -> Reply:
        """Return the page of a URL, a 404 if there is none."""
        parts = urlsplit(url)
        page = self._pages.get(f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/")
        return Reply(200, _HTML, page.content.encode()) if page else Reply(404, _HTML, b"<h1>Not found</h1>")


class _Edition:
    """The pages of one language, written into `pages`."""

    def __init__(self, pages: dict[str, _Page], traits: SiteTraits, seed: str, prefix: str) -> None:
        self.pages, self.t, self.prefix = pages, traits, prefix
        self.rng = random.Random(f"zoo site {seed}")
        self.words = _Words(self.rng)
        self.old = {s for s in range(traits.sections) if self.rng.random() < traits.redesigned}
        self.items = [self._item(number) for number in range(1, traits.items + 1)]
        self.authors = [self.words.phrase(2) for _ in range(traits.authors)]
        self.rotating = [self.words.texts(220) for _ in range(traits.rotating)]
        self.boilerplate = self.words.texts(traits.boilerplate)

    def build(self) -> None:
        """Write every page."""
        self._home()
        self._sections()
        self._item_pages()
        self._other_lists()
        self._author_pages()
        self._hidden_pages()
        self._service_pages()

    def path(self, rest: str = "/") -> str:
        """Return a path of this language."""
        return self.prefix + rest

    # Items

    def _item(self, number: int) -> _Item:
        t, rng = self.t, self.rng
        chars = 0.0 if rng.random() < t.thin_items else t.item_chars * rng.lognormvariate(0.0, t.spread)
        item = _Item(
            number,
            section=rng.randrange(t.sections),
            title=self.words.phrase(rng.randint(2, 5)),
            texts=self.words.texts(chars),
            author=rng.randrange(t.authors) if t.authors else -1,
            tags=tuple(rng.sample(range(_TAGS), t.tags)),
            month=rng.randrange(_MONTHS),
        )
        slug = item.title.replace(" ", "-")
        item.path = self.path(
            {
                "id": f"/item/{number}",
                "id-slug": f"/item/{number}-{slug}",
                "slug": f"/section{item.section}/{slug}-{number}",
                "flat": f"/{slug}-{number}",
                "query": f"/show?id={number}",
                "dated": f"/{2020 + item.month // 12}/{1 + item.month % 12:02d}/{slug}-{number}",
            }[t.item_url]
        )
        return item

    def _item_pages(self) -> None:
        for item in self.items:
            pages = 2 + item.number % 3 if self.rng.random() < self.t.parts else 1
            joined = "&" if "?" in item.path else "?"
            further = [f"{item.path}{joined}page={n}" for n in range(2, pages + 1)]
            bar = "".join(link(path, str(n), "part") for n, path in enumerate(further, 2))
            content = f"<article>{paragraphs(item.texts)}</article>{self._by(item)}{bar}{self._around(item)}"
            self._add(item.path, _Page("item", item.title, content, old=item.section in self.old))
            for path in further:
                texts = paragraphs(self.words.texts(self.t.item_chars))
                part = f"<article>{texts}</article>{bar}{link(item.path, 'first', 'part')}"
                self._add(path, _Page("item_part", item.title, part, old=item.section in self.old))
            if self.rng.random() < self.t.copies:
                canonical = item.path if self.t.canonical else ""
                self._add(self._copy(item), _Page("copy", item.title, content, canonical))

    def _copy(self, item: _Item) -> str:
        return self.path(f"/print/{item.number}")

    def _by(self, item: _Item) -> str:
        author = (
            link(self._author(item.author), self.authors[item.author], "author") if item.author >= 0 else ""
        )
        tags = list_of((link(self.path(f"/tag/{tag}"), f"tag {tag}", "tag") for tag in item.tags), "tags")
        return f'<div class="by">{author}{tags if item.tags else ""}</div>'

    def _around(self, item: _Item) -> str:
        """Return what stands below an item: others like it, its copy, a link that needs an account."""
        others = self.rng.sample(self.items, min(self.t.related, len(self.items)))
        below = list_of((link(other.path, other.title) for other in others), "related") if others else ""
        if self.t.copies:
            below += link(self._copy(item), "print", "tool", "nofollow")
        if self.rng.random() < self.t.logins:
            path = with_query(self.path("/login"), {"next": item.number})
            below += link(path, "reply", "tool")
            self._add(path, _Page("login", "Log in", "<form><input name=user></form>"))
        return below + link(self._section(item.section), "up", "crumb")

    # Lists

    def _section(self, number: int) -> str:
        return self.path(f"/section{number}") if self.t.item_url == "slug" else self.path(f"/list/{number}")

    def _sections(self) -> None:
        for number in range(self.t.sections):
            items = [item for item in self.items if item.section == number]
            self._list(self._section(number), "list", items, dead=self.t.dead)
        lowest = [self._section(number) for number in range(self.t.sections)]
        for level in range(1, self.t.levels):
            lowest = self._index(level, lowest)

    def _index(self, level: int, below: Sequence[str]) -> list[str]:
        """Write pages that list four sections each, and return them."""
        made = []
        for n in range(0, len(below), 4):
            path = self.path(f"/part{level}/{n // 4}")
            listed = list_of((link(child, self.words.phrase(2)) for child in below[n : n + 4]), "parts")
            self._add(path, _Page("index", self.words.phrase(2), self._own_list_text() + listed))
            made.append(path)
        return made

    def _top(self) -> list[str]:
        """Return the pages of the highest level of sections."""
        if self.t.levels == 1:
            return [self._section(n) for n in range(self.t.sections)]
        n = self.t.sections
        for _ in range(self.t.levels - 1):
            n = -(-n // 4)
        return [self.path(f"/part{self.t.levels - 1}/{k}") for k in range(n)]

    def _list(self, path: str, kind: str, items: Sequence[_Item], *, dead: int = 0) -> None:
        """Write a list of items: its pages, and those of every other order and filter."""
        newest = sorted(items, key=lambda item: -item.number)
        views = {"": newest}
        for n in range(self.t.sorts):
            views[f"sort={n}"] = sorted(items, key=lambda item: hash64(f"{n} {item.number}"))
        for n in range(self.t.facets):
            views[f"filter={n}"] = [item for item in newest if item.number % self.t.facets == n]
        bar = "".join(link(f"{path}?{view}", view, "view") for view in views if view)
        intro = self._own_list_text()
        gone = [self.path(f"/gone/{self.rng.randrange(10_000)}") for _ in range(min(dead, len(items) // 4))]
        for target in gone:
            self._add(target, _Page("gone", "Sorry", f"<p>{_GONE}</p>"))
        for view, shown in views.items():
            pages = max(1, -(-len(shown) // self.t.per_list))
            for page in range(1, pages + 1):
                rows = shown[(page - 1) * self.t.per_list : page * self.t.per_list]
                listed = "".join(self._row(item) for item in rows)
                if page == 1:
                    listed += "".join(
                        f'<div class="row">{link(target, "old entry", "title")}</div>' for target in gone
                    )
                content = f"{bar}{intro}{listed}{self._paging(path, view, page, pages)}"
                canonical = _paged(path, "", page, self.t) if view and self.t.canonical else ""
                self._add(
                    _paged(path, view, page, self.t),
                    _Page(f"{kind}_variant" if view else kind, path.strip("/"), content, canonical),
                )

    def _own_list_text(self) -> str:
        return paragraphs(self.words.texts(self.t.list_chars * self.rng.uniform(0.5, 1.5)))

    def _row(self, item: _Item) -> str:
        shown = "".join(f"<p>{escape(text)}</p>" for text in item.texts) if self.t.shows == "full" else ""
        if self.t.shows == "excerpts" and item.texts:
            shown = f"<p>{escape(item.texts[0][:_EXCERPT])}</p>"
        heading = link(item.path, item.title, "title")
        return f'<div class="row"><h3>{heading}</h3>{shown}{self._by(item)}</div>'

    def _paging(self, path: str, view: str, page: int, pages: int) -> str:
        if pages == 1:
            return ""
        if self.t.paging == "next":
            shown = [page + 1] if page < pages else []
        else:
            shown = [n for n in range(max(1, page - _BAR), min(pages, page + _BAR) + 1) if n != page]
        links = "".join(link(_paged(path, view, n, self.t), str(n)) for n in shown)
        return f'<nav class="pages">{links}</nav>'

    def _other_lists(self) -> None:
        for tag in sorted({tag for item in self.items for tag in item.tags}):
            self._list(self.path(f"/tag/{tag}"), "tag", [item for item in self.items if tag in item.tags])
        if self.t.dates:
            months = {month: [i for i in self.items if i.month == month] for month in range(_MONTHS)}
            paths = {month: self.path(f"/archive/{month}") for month, items in months.items() if items}
            for month, path in paths.items():
                self._list(path, "month", months[month])
            listed = list_of((link(path, f"month {month}") for month, path in paths.items()), "months")
            self._add(self.path("/archive"), _Page("index", "Archive", listed))

    # Everything else

    def _author(self, number: int) -> str:
        return self.path(f"/people/{self.authors[number].replace(' ', '-')}{number}")

    def _author_pages(self) -> None:
        for number, name in enumerate(self.authors):
            latest = [item for item in self.items if item.author == number][-_NEWEST:]
            listed = list_of((link(item.path, item.title) for item in latest), "latest")
            about = paragraphs(self.words.texts(self.t.author_chars * self.rng.uniform(0.5, 1.5)))
            self._add(self._author(number), _Page("author", name, f'<div class="card">{about}</div>{listed}'))

    def _hidden_pages(self) -> None:
        paths = [self.path(f"/event/{n}") for n in range(self.t.hidden)]
        for path in paths:
            texts = paragraphs(self.words.texts(self.t.hidden_chars))
            self._add(
                path, _Page("hidden", self.words.phrase(3), f'<section class="event">{texts}</section>')
            )
        if paths:
            listed = list_of((link(path, self.words.phrase(3)) for path in paths), "events")
            self._add(self.path("/events"), _Page("index", "Events", listed))

    def _home(self) -> None:
        newest = "".join(self._row(item) for item in self.items[-_NEWEST:])
        sections = list_of((link(path, self.words.phrase(2)) for path in self._top()), "sections")
        more = link(self.path("/archive"), "archive") if self.t.dates else ""
        more += link(self.path("/calendar/0"), "calendar") if self.t.calendar else ""
        self._add(
            self.path(), _Page("home", "Home", f"<h1>{self.words.phrase(3)}</h1>{sections}{newest}{more}")
        )

    def _service_pages(self) -> None:
        for n in range(self.t.about):
            content = paragraphs(self.words.texts(self.t.about_chars))
            if n == 0 and self.t.hidden:
                content += link(self.path("/events"), "events")
            self._add(self.path(f"/about{n}"), _Page("about", f"About {n}", content))
        for n in range(self.t.calendar):
            weeks = (m for m in (n - 1, n + 1, n + 7) if 0 <= m < self.t.calendar)
            cells = "".join(f"<td>{link(self.path(f'/calendar/{m}'), str(m))}</td>" for m in weeks)
            self._add(self.path(f"/calendar/{n}"), _Page("calendar", f"Week {n}", f"<table>{cells}</table>"))

    # The frame

    def _add(self, path: str, page: _Page) -> None:
        """Keep a page, in the frame all pages of its layout share."""
        if path not in self.pages:
            self.pages[path] = page._replace(content=self._framed(path, page))

    def _framed(self, path: str, page: _Page) -> str:
        rel = f'<link rel="canonical" href="{escape(page.canonical)}">' if page.canonical else ""
        head = f"<head><title>{escape(page.title)}</title>{rel}</head>"
        side = paragraphs(self.rotating[hash64(path) % len(self.rotating)]) if self.rotating else ""
        foot = f"<footer>{paragraphs(self.boilerplate)}</footer>"
        if page.old:
            table = f'<td class="nav">{self._menu}</td><td class="text">{page.content}</td>'
            body = f'<body class="classic"><table><tr>{table}</tr></table>{side}{foot}</body>'
        else:
            main = f"<main><h1>{escape(page.title)}</h1>{page.content}</main><aside>{side}</aside>"
            css = page.type.partition("_")[0]
            body = f'<body class="{css}"><header>{self._menu}</header>{main}{foot}</body>'
        return f"<!DOCTYPE html><html>{head}{body}</html>"

    @cached_property
    def _menu(self) -> str:
        sections = {"top": self._top, "all": self._every_section, "none": list}[self.t.menu]()
        about = [self.path(f"/about{n}") for n in range(self.t.about)]
        others = ["/" if self.prefix else "/l1/"] if self.t.languages > 1 else []
        links = [link(path, path.strip("/") or "home") for path in [self.path(), *sections, *about, *others]]
        return list_of(links, "menu")

    def _every_section(self) -> list[str]:
        return [self._section(n) for n in range(self.t.sections)]


def _paged(path: str, view: str, page: int, traits: SiteTraits) -> str:
    """Return the path of a page of a list."""
    query = {"offset": f"offset={(page - 1) * traits.per_list}", "path": ""}.get(
        traits.paging, f"page={page}"
    )
    if page > 1 and traits.paging == "path":
        path += f"/page/{page}"
    queries = [part for part in (view, query if page > 1 else "") if part]
    return f"{path}?{'&'.join(queries)}" if queries else path
