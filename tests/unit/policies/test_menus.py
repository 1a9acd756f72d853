"""What every page links to counts for no more than a link of a list."""

from __future__ import annotations

from support.boards import Board

MENU = "html/body/nav/a"
LIST = "html/body/main/a"


def board(*, menu_on_every_page: bool) -> Board:
    """Posts of some text, and pages about the site with more."""
    crawl = Board("harvest")
    about = [(f"/about/{n}", MENU) for n in range(4)]
    crawl.page("/", [*about, *((f"/post/{n}", LIST) for n in range(20))])
    for n in range(8):
        crawl.page(f"/post/{n}", about if menu_on_every_page else [], texts=[(f"post {n}", 120 + 10 * n)])
    for n in range(2):
        crawl.page(f"/about/{n}", about if menu_on_every_page else [], texts=[(f"about {n}", 2_000)])
    return crawl


def test_pages_about_the_site_come_after_posts_if_every_page_links_to_them() -> None:
    about, post = (board(menu_on_every_page=False).scores(path)[0] for path in ("/about/3", "/post/19"))
    assert about > post
    about, post = (board(menu_on_every_page=True).scores(path)[0] for path in ("/about/3", "/post/19"))
    assert about < post
