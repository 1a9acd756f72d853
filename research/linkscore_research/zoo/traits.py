"""What makes one site of the synthetic corpus differ from another, and how it is drawn."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteTraits:
    """The parameters of one site; characters are those of long text, numbers of pages are per language.

    Attributes
    ----------
    items, item_chars, spread
        Wanted pages (articles, products, threads), the median of their own text, and the standard deviation
        of its logarithm.
    thin_items
        Share of the items that have no long text at all.
    parts
        Share of the items that go on over further pages (comments), which are wanted too.
    item_url
        ``id``, ``id-slug``, ``slug`` (below the section), ``flat`` (below nothing), ``query``, ``dated``.
    related
        Links from an item to others.
    levels, sections
        Depth of the tree of sections, 1 to 3, and sections on its lowest level.
    per_list, shows, paging
        Items of a list page; what it shows of them: ``titles``, ``excerpts``, ``full``; URL of further pages:
        ``query``, ``path``, ``offset``; ``next`` names only the next one.
    list_chars
        Text of a list's own, on each of its pages.
    sorts, facets, canonical
        Further orders and filters of every list; whether they name the plain list as canonical.
    tags, dates, authors
        Tags of an item, each with a list; lists by month; number of authors, each with a page.
    author_chars, authors_wanted
        Their text, and whether their pages are wanted.
    hidden, hidden_chars
        Wanted pages of another kind that only one list links to, itself linked from one page; their text.
    copies
        Share of the items with a copy of their page, by another URL.
    logins, calendar, dead
        Share of the items with a link to a log-in page of their own; empty pages of a calendar, each linking
        the next; links of lists to pages that are gone and say so with status 200.
    about, about_chars
        Pages about the site in every menu, and their text.
    menu
        What every page links to: ``top`` sections, ``all`` sections, or ``none`` (about pages only).
    boilerplate, rotating
        Characters of the text below every page; number of texts of which every page shows one, 0 for none.
    languages
        1 or 2 copies of everything, in different words.
    redesigned
        Share of the sections in an older layout.
    """

    items: int
    item_chars: int
    spread: float
    thin_items: float
    parts: float
    item_url: str
    related: int
    levels: int
    sections: int
    per_list: int
    shows: str
    paging: str
    list_chars: int
    sorts: int
    facets: int
    canonical: bool
    tags: int
    dates: bool
    authors: int
    author_chars: int
    authors_wanted: bool
    hidden: int
    hidden_chars: int
    copies: float
    logins: float
    calendar: int
    dead: int
    about: int
    about_chars: int
    menu: str
    boilerplate: int
    rotating: int
    languages: int
    redesigned: float


def draw_traits(seed: int) -> SiteTraits:
    """Return the traits of a site; the same seed gives the same traits.

    The ranges are chosen, not measured. They are wide on purpose, and sites of 100 to 1,200 pages come of
    them, so that a replay of a quarter of one costs a fraction of a second.
    """
    rng = random.Random(f"zoo {seed}")

    def sometimes(prob: float, least: float, most: float) -> int:
        """Return a number drawn evenly by its logarithm, or 0."""
        value = least * (most / least) ** rng.random()
        return round(value) if rng.random() < prob else 0

    languages = 2 if rng.random() < 0.15 else 1
    items = sometimes(1.0, 50, 260) // languages
    return SiteTraits(
        items=items,
        item_chars=sometimes(1.0, 60, 4_000),
        spread=rng.uniform(0.2, 0.9),
        thin_items=rng.choice((0.0, 0.0, 0.05, 0.3)),
        parts=rng.choice((0.0, 0.0, 0.2, 0.5)),
        item_url=rng.choice(("id", "id-slug", "slug", "flat", "query", "dated")),
        related=rng.choice((0, 2, 4, 12)),
        levels=rng.choice((1, 1, 2, 2, 3)),
        sections=max(1, min(items // 8, sometimes(1.0, 2, 24))),
        per_list=rng.choice((8, 12, 20)),
        shows=rng.choices(("titles", "excerpts", "full"), (5, 4, 1))[0],
        paging=rng.choice(("query", "path", "offset", "next")),
        list_chars=sometimes(0.3, 100, 2_000),
        sorts=rng.choice((0, 0, 1, 3)),
        facets=rng.choice((0, 0, 0, 2)),
        canonical=rng.random() < 0.5,
        tags=rng.choice((0, 0, 1, 3)),
        dates=rng.random() < 0.3,
        authors=sometimes(0.5, 5, 60),
        author_chars=sometimes(0.6, 40, 800),
        authors_wanted=rng.random() < 0.4,
        hidden=sometimes(0.2, 10, 40),
        hidden_chars=sometimes(0.8, 80, 2_000),
        copies=rng.choice((0.0, 0.0, 0.0, 0.5, 1.0)),
        logins=rng.choice((0.0, 0.0, 0.5, 1.0)),
        calendar=sometimes(0.2, 20, 80),
        dead=sometimes(0.3, 3, 30),
        about=rng.randint(1, 8),
        about_chars=sometimes(0.7, 100, 4_000),
        menu=rng.choices(("top", "all", "none"), (4, 2, 1))[0],
        boilerplate=sometimes(0.7, 40, 600),
        rotating=sometimes(0.25, 3, 40),
        languages=languages,
        redesigned=rng.choice((0.0, 0.0, 0.0, 0.4)),
    )


_CONTENT = (
    "item_chars", "spread", "authors", "author_chars", "list_chars", "hidden", "hidden_chars",
    "calendar", "dead", "about_chars", "boilerplate", "rotating",
)  # fmt: skip
"""Traits that are of a site's content, not of the software it runs; a sibling has another number of each."""


def draw_sibling(seed: int, sibling: int) -> SiteTraits:
    """Return the traits of another site of the software that the site of a seed runs.

    What the software decides is the same (templates, URLs, what lists show and how they go on); size, texts
    and numbers of things are drawn anew. What one site has none of, the other has none of either.
    """
    own, other = draw_traits(seed), draw_traits(sibling_seed(seed, sibling))
    both = {
        name: getattr(other, name)
        for name in _CONTENT
        if bool(getattr(own, name)) == bool(getattr(other, name))
    }
    return replace(own, items=other.items, sections=other.sections, about=other.about, **both)


def sibling_seed(seed: int, sibling: int) -> int:
    """Return the seed of the content of a sibling, 1 and up: no site of the synthetic corpus has it."""
    return 1_000 * seed + sibling
