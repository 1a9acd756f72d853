"""A site whose threads are worth more than its tags, and a server that says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.crawlers.page_server import serving_pages
from support.fake_linkscore import FakeLinkscore, serve

FANOUT = 3
# Crawl4AI takes pages with little text for the answers of bot walls.
TEXT = "A page with enough text to be taken for one. " * 20


def body_of(path: str) -> str | None:
    """The start page links tags, then threads; each of them one more; ``/gone`` is not there."""
    kind, _, number = path.strip("/").partition("/")
    if kind == "gone":
        return None
    names = [f"{kind}/{number}0"] if number and len(number) < FANOUT else []
    if not kind:
        names = [f"{name}/{n}" for name in ("tag", "gone", "thread") for n in range(1, FANOUT + 1)]
    links = "".join(f'<p><a href="/{name}">{name}</a></p>' for name in names)
    return f"<html><head><title>{path}</title></head><body>{links}<p>{TEXT}</p></body></html>"


@pytest.fixture
def fake() -> Iterator[FakeLinkscore]:
    yield from serve(FakeLinkscore({"thread": 0.9, "tag": 0.5, "gone": 0.1}))


@pytest.fixture
def site() -> Iterator[tuple[str, list[str]]]:
    """Address of the site, and the paths that were asked for."""
    with serving_pages(body_of) as (host, asked):
        yield f"http://{host}/", asked
