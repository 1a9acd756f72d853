"""What every page links to counts for no more than a link of a list."""

from __future__ import annotations

import pytest

from linkscore_scoring.policies.harvest.arms import MenuLinks
from support.boards import Board

ABOUT, POST = (1, 1), (2, 2)
MENU = "html/body/nav/a"
LIST = "html/body/main/a"


def seen(pages: int, *, new_posts: bool = True) -> MenuLinks:
    """Pages that all link to the same page about the site, and to two posts each."""
    menus = MenuLinks()
    for page in range(pages):
        fresh = ({} if page else {ABOUT: 1}) | ({POST: 2} if new_posts or not page else {})
        menus.see({ABOUT: 1, POST: 2}, fresh)
    return menus


@pytest.mark.parametrize(("pages", "share"), [(0, 0.0), (2, 0.0), (3, 1.0), (9, 1.0)])
def test_the_same_link_on_every_page_is_a_menu_once_there_are_three(pages: int, share: float) -> None:
    assert seen(pages).share(ABOUT) == share


def test_other_links_at_the_same_place_are_none() -> None:
    assert seen(10).share(POST) == pytest.approx(0.1)
    assert seen(10, new_posts=False).share(POST) == 1.0


def test_only_pages_since_the_first_that_showed_an_arm_count() -> None:
    menus = seen(7)
    late = (3, 3)
    for page in range(4):
        menus.see({late: 1}, {} if page else {late: 1})
    assert menus.share(late) == 1.0
    assert menus.share(ABOUT) == pytest.approx(7 / 11)


def test_beyond_the_bound_the_arms_seen_first_are_forgotten() -> None:
    menus = seen(5)
    menus.max_arms = 2
    menus.see({(3, 3): 1}, {(3, 3): 1})
    assert menus.share(ABOUT) == 0.0
    assert menus.share(POST) > 0.0


def test_a_state_has_the_same_future() -> None:
    menus, again = seen(5), MenuLinks()
    again.load_state(menus.to_state())
    for each in (menus, again):
        each.see({ABOUT: 1}, {})
    assert again.to_state() == menus.to_state()


def board(*, menu_on_every_page: bool) -> Board:
    """Posts of some text, and pages about the site with more."""
    crawl = Board("harvest")
    about = [(f"/about/{n}", MENU) for n in range(4)]
    crawl.page("/", [*about, *((f"/post/{n}", LIST) for n in range(20))])
    for n in range(8):
        crawl.page(f"/post/{n}", about if menu_on_every_page else [], texts=[(f"post {n}", 150)])
    for n in range(2):
        crawl.page(f"/about/{n}", about if menu_on_every_page else [], texts=[(f"about {n}", 2_000)])
    return crawl


def test_pages_about_the_site_come_after_posts_if_every_page_links_to_them() -> None:
    about, post = (board(menu_on_every_page=False).scores(path)[0] for path in ("/about/3", "/post/19"))
    assert about > post
    about, post = (board(menu_on_every_page=True).scores(path)[0] for path in ("/about/3", "/post/19"))
    assert about < post


def test_an_explanation_says_how_far_an_arm_is_a_menu() -> None:
    crawl = board(menu_on_every_page=True)
    reasons = [why.explanation.terms for why in crawl.explain("/about/3", "/post/19")]
    about, post = (next(term.value for term in terms if term.name == "menu") for terms in reasons)
    assert (about > 0.9, post) == (True, pytest.approx(1 / 11))
