"""Pages nobody crawls for: log-in and registration, help, search results, and a calendar of empty weeks."""

from __future__ import annotations

import random
from collections.abc import Iterator
from html import escape

from linkscore_lab.datasets.demo_site.layout import document, link, list_of, with_query
from linkscore_lab.datasets.demo_site.words import TOPICS, paragraph, slug
from linkscore_lab.datasets.demo_site.world import World
from linkscore_lab.datasets.site import Reply

HELP = ("rules", "privacy", "contact", "formatting", "avatars", "moderation", "badges", "passwords")
YEARS = range(2019, 2027)
WEEKS = range(1, 6)


def urls(world: World) -> Iterator[tuple[str, str]]:
    """Yield each URL of this template with its page type."""
    yield from (("/login", "login"), ("/register", "register"), ("/help", "help"), ("/search", "search"))
    yield from ((with_query("/login", {"next": target}), "login") for target in login_targets(world))
    yield from ((f"/help/{name}", "help") for name in HELP)
    yield from ((with_query("/search", {"q": word}), "search") for word in search_words(world))
    for month in _months():
        yield f"/calendar/{month}", "calendar"
        yield from ((f"/calendar/{month}/{week}", "calendar") for week in WEEKS)


def login_targets(world: World) -> Iterator[str]:
    """Yield each path that a log-in link wants to return to."""
    yield from (f"/new/{slug(topic.name)}" for topic in TOPICS)
    yield from (thread.path for thread in world.threads)
    yield from (f"/tag/{tag}" for tag in world.tags)
    yield from (f"/message/{member.name}" for member in world.members)


def search_words(world: World) -> list[str]:
    """Return the words the search page proposes."""
    return sorted(world.tags)


def login(target: str) -> Reply:
    """Render the log-in form; where it leads back to changes nothing one could read."""
    field = f'<input type="hidden" name="next" value="{escape(target)}">'
    form = (
        f'<form method="post">{field}<input name="user"><input name="password"><button>Log in</button></form>'
    )
    help_line = f'<p class="hint">{link("/help/passwords", "Forgot your password?")}</p>'
    return document(
        "Log in", f"<h1>Log in</h1><p>You must be logged in to do this.</p>{form}{help_line}", "login"
    )


def register() -> Reply:
    """Render the registration form."""
    form = '<form method="post"><input name="user"><input name="mail"><button>Register</button></form>'
    return document("Register", f"<h1>Register</h1>{form}{link('/help/rules', 'Rules')}", "register")


def help_page(name: str) -> Reply | None:
    """Render the list of help pages, one of them, or None when there is none."""
    if not name:
        return document(
            "Help", f"<h1>Help</h1>{list_of((link(f'/help/{n}', n) for n in HELP), 'help')}", "help"
        )
    if name not in HELP:
        return None
    rng = random.Random(f"help {name}")
    steps = list_of((escape(paragraph(rng, rng.choice(TOPICS), 1)) for _ in range(6)), "steps")
    return document(f"Help: {name}", f"<h1>{name.capitalize()}</h1>{steps}", "help")


def search(world: World, word: str) -> Reply | None:
    """Render the search form, or what it finds; None for a word it does not propose."""
    if word and word not in world.tags:
        return None
    found = world.tags[word][:10] if word else []
    proposals = (link(with_query("/search", {"q": other}), other) for other in search_words(world)[:60])
    hits = list_of((link(thread.path, thread.title, "hit") for thread in found), "hits")
    return document("Search", f"<h1>Search</h1>{hits}{list_of(proposals, 'proposals')}", "search")


def calendar(month: str, week: str) -> Reply | None:
    """Render a month or one of its weeks, with a link to the next: many pages, bounded, nothing on them."""
    months = _months()
    if month not in months or (week and week not in map(str, WEEKS)):
        return None
    here = months.index(month)
    around = [
        link(f"/calendar/{other}", other) for other in months[max(0, here - 1) : here + 2] if other != month
    ]
    weeks = list_of((link(f"/calendar/{month}/{number}", f"week {number}") for number in WEEKS), "weeks")
    cells = "".join(f"<td>{day}</td>" for day in range(1, 29))
    content = f"<h1>{month} {week}</h1>{''.join(around)}{weeks}<table><tr>{cells}</tr></table>"
    return document(f"Calendar {month}", content, "calendar")


def _months() -> list[str]:
    return [f"{year}-{month:02d}" for year in YEARS for month in range(1, 13)]
