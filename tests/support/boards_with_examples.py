"""A small crawl with example pages."""

from __future__ import annotations

from linkscore_scoring.testing.pages import trie_of
from linkscore_scoring.types import ExamplePage
from support.boards import Board

POST = ["html/body/main[post]/text()", "html/body/nav/a"]


def example(path: str, host: str = "h") -> ExamplePage:
    """A post as example."""
    url = f"http://{host}{path}"
    return ExamplePage(url, url, "post", trie_of(POST))


def board_with(*examples: ExamplePage) -> Board:
    """A crawl under harvest that has them."""
    return Board("harvest", examples=examples)
