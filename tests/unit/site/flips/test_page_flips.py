"""Page flips are told from what only looks like them, by the links of one page alone."""

from __future__ import annotations

import pytest

from linkscore_scoring.site.flips.kinds import FIRST, LAST, NEXT, NO_FLIP, PAGE, PREV
from linkscore_scoring.site.flips.page import page_flips

HOST = "http://forum.example"


def kinds(
    page: str, *links: tuple[str, str], rels: list[str] | None = None, place: str = "body/a[]"
) -> list[int]:
    urls = [HOST + url for _, url in links]
    return page_flips(HOST + page, urls, [a for a, _ in links], rels or [], [place] * len(links))


def test_numbers_that_grow_with_the_offset_of_their_url_are_flips_with_the_first_page_without_offset():
    found = kinds(
        "/t/7", ("1", "/t/7"), ("2", "/t/7?start=15"), ("3", "/t/7?start=30"), ("Next", "/t/7?start=15")
    )
    assert found == [PAGE, PAGE, PAGE, NEXT]


@pytest.mark.parametrize(
    ("two", "nine"),
    [
        ("/f/page/2/", "/f/page/9/"),
        ("/f?p=1", "/f?p=8"),
        ("/f-25.html", "/f-200.html"),
        ("/f?item=11&x=1", "/f?item=81&x=1"),
        ("/f-or20-hotel.html", "/f-or160-hotel.html"),
    ],
)
def test_page_numbers_and_offsets_count_from_zero_or_one(two: str, nine: str):
    if "item" in two:
        two, nine = "/f?item=10&x=1", "/f?item=80&x=1"
    assert kinds("/other", ("2", two), ("9", nine)) == [PAGE, PAGE]


@pytest.mark.parametrize(
    "links",
    [
        [("1", "/2016/03/01/"), ("2", "/2016/03/02/"), ("3", "/2016/03/03/")],
        [("1", "/?m=20160301"), ("2", "/?m=20160302"), ("3", "/?m=20160303")],
        [("1", "/c?year=2016&month=3&day=1"), ("2", "/c?year=2016&month=3&day=2")],
        [("2014", "/2014/"), ("2015", "/2015/"), ("2016", "/2016/")],
        [("12", "/t/1"), ("3", "/t/2"), ("40", "/t/3")],
        [("1", "/rate?item=5&rating=1"), ("2", "/rate?item=5&rating=2"), ("3", "/rate?item=5&rating=3")],
        [("10", "/f?limit=10"), ("25", "/f?limit=25"), ("50", "/f?limit=50")],
        [("#1", "/t/7?p=1"), ("#2", "/t/7?p=2"), ("#3", "/t/7?p=3")],
        [("[1]", "/t/7"), ("[2]", "/t/7"), ("[3]", "/t/7")],
        [("+1", "/vote?up=1"), ("-1", "/vote?up=0")],
    ],
)
def test_days_years_counts_ratings_sizes_post_numbers_and_votes_are_no_flips(links: list[tuple[str, str]]):
    assert kinds("/t/7", *links) == [NO_FLIP] * len(links)


def test_pages_of_threads_in_a_list_are_flips_of_their_thread():
    found = kinds(
        "/f/1",
        ("A thread", "/t/7"),
        ("2", "/t/7?start=15"),
        ("Another", "/t/8"),
        ("1", "/t/8"),
        ("2", "/t/8?start=15"),
        ("3", "/t/8?start=30"),
        ("Third", "/t/9"),
        ("5", "/t/9"),
    )
    assert found == [NO_FLIP, PAGE, NO_FLIP, PAGE, PAGE, PAGE, NO_FLIP, NO_FLIP]


@pytest.mark.parametrize(
    ("anchor", "kind"),
    [
        ("Next", NEXT), ("« Zurück", PREV), ("次のページ", NEXT), ("上一页", PREV), ("Следующая →", NEXT),
        ("Próximo", NEXT), ("Poprzednia", PREV), ("التالي", NEXT), ("ถัดไป", NEXT), ("older posts", NEXT),
        ("Nastepna strona", NEXT), ("第一页", FIRST), ("Dernière »", LAST), ("»", NEXT),
        (">>", LAST), ("|<", FIRST),
    ],
)  # fmt: skip
def test_words_and_arrows_of_many_languages_are_read(anchor: str, kind: int):
    assert kinds("/list?page=2", (anchor, "/list?page=9")) == [kind]


@pytest.mark.parametrize(
    ("page", "anchor", "url"),
    [
        ("/2016/03/post", "Next", "/2016/04/other-post"),
        ("/news/12", "Next", "/news/13"),
        ("/t/7", "Next topic", "/t/8"),
        ("/t/7", "Next article »", "/t/8"),
        ("/calendar?month=3", "»", "/calendar?month=4"),
        ("/calendar", "Next", "/calendar?month=2016-04"),
        ("/list?page=1", "»", "/list?page=1&mini=2016-04"),
        ("/f/1", "Last post", "/t/8?page=9"),
        ("/list", "First", "/"),
        ("/list", "Continue reading →", "/list/item"),
        ("/list", "« Feb", "/?m=201602"),
    ],
)
def test_the_next_article_topic_or_month_is_no_flip(page: str, anchor: str, url: str):
    assert kinds(page, (anchor, url)) == [NO_FLIP]


def test_a_link_without_text_speaks_by_rel_or_class_if_its_url_agrees():
    assert kinds("/list", ("", "/list?page=2"), rels=["nofollow next"]) == [NEXT]
    assert kinds("/list?page=3", ("", "/list?page=2"), place="body/nav/a[btn btn-prev]") == [PREV]
    assert kinds("/list", ("", "/article"), rels=["next"]) == [NO_FLIP]


def test_the_url_alone_tells_the_page_before_and_after():
    assert kinds("/list/page/3", ("Mehr davon laden", "/list/page/4"), ("?", "/list/page/2")) == [NEXT, PREV]
    assert kinds("/list/page/3", ("All on one page", "/list/page/9")) == [NO_FLIP]


def test_a_bar_of_ends_and_steps_is_a_flip_whatever_its_urls():
    found = kinds("/comic/b", ("First", "/comic/a"), ("Prev", "/comic/x"), ("Next", "/comic/c"))
    assert found == [FIRST, PREV, NEXT]
    assert kinds("/comic/b", ("Prev", "/comic/x"), ("Next", "/comic/c")) == [NO_FLIP, NO_FLIP]


def test_many_numbers_cost_linear_time():
    links = [(str(i % 9), f"/t/{i}?a={'1' * 500}-{i}") for i in range(5_000)]
    assert len(kinds("/f", *links)) == 5_000


def test_no_links_give_no_kinds():
    assert kinds("/f") == []
