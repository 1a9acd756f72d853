"""Page links are told from what only looks like them, by the links of one page alone."""

from __future__ import annotations

import pytest

from linkscore_scoring.pagination.anchors import FIRST, LAST, NEXT, NO_PAGE_LINK, PAGE, PREV
from linkscore_scoring.pagination.page_links import find_page_links

HOST = "http://forum.example"


def kinds(page: str, *links: tuple[str, str]) -> list[int]:
    return find_page_links(HOST + page, [HOST + url for _, url in links], [a for a, _ in links])


def test_numbers_that_grow_with_the_offset_of_their_url_are_page_links_with_the_first_page_without_offset():
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
        [("1", "/log?days=1"), ("3", "/log?days=3"), ("7", "/log?days=7")],
        [("1", "/log?x=1"), ("7", "/log?x=7"), ("30", "/log?x=30")],
        [("50", "/log?limit=50"), ("100", "/log?limit=100"), ("250", "/log?limit=250")],
        [("1", "/log?from=&days=1"), ("3", "/log?from=&days=3")],
        [("500", "/log?user=Rex500&limit=500")],
        [("3", "/log?title=A%3AB&x=7"), ("20", "/log?title=A%20B&x=7")],
        [("+1", "/vote?up=1"), ("-1", "/vote?up=0")],
    ],
)
def test_days_years_counts_ratings_sizes_post_numbers_and_votes_are_no_page_links(
    links: list[tuple[str, str]],
):
    assert kinds("/t/7", *links) == [NO_PAGE_LINK] * len(links)


def test_pages_of_threads_in_a_list_are_page_links_of_their_thread():
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
    assert found == [NO_PAGE_LINK, PAGE, NO_PAGE_LINK, PAGE, PAGE, PAGE, NO_PAGE_LINK, NO_PAGE_LINK]


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
        ("/topic?p=12", "Re: a reply", "/topic?p=13"),
        ("/album/5/photo/12", "Next", "/album/5/photo/13"),
        ("/index.php?topic=5.0", "next »", "/index.php?topic=5.0;prev_next=next"),
        ("/archive/2015", "2016 »", "/archive/2016"),
        ("/docs/intro.html", "Next", "/docs/install.html"),
        ("/t/7", "Next unread topic", "/t/7?view=getnewpost"),
    ],
)
def test_the_next_article_topic_or_month_is_no_page_link(page: str, anchor: str, url: str):
    assert kinds(page, (anchor, url)) == [NO_PAGE_LINK]


ENGINES = {
    "Discuz": ("/thread-12-1-1.html", [("2", "/thread-12-2-1.html"), ("下一页", "/thread-12-2-1.html")]),
    "Drupal": ("/node/5", [("2", "/node/5?page=0,1"), ("last »", "/node/5?page=0,7")]),
    "SMF": ("/index.php?topic=5.0", [("2", "/index.php?topic=5.15"), ("»", "/index.php?topic=5.15")]),
    "YaBB": ("/YaBB.pl?num=12/0", [("2", "/YaBB.pl?num=12/15"), ("3", "/YaBB.pl?num=12/30")]),
    "Phorum": ("/read.php?1,77", [("2", "/read.php?1,77,page=2"), ("Next", "/read.php?1,77,page=2")]),
    "Vanilla": ("/discussion/5/title", [("2", "/discussion/5/title/p2"), ("»", "/discussion/5/title/p2")]),
    "MyBB": ("/Thread-x", [("2", "/Thread-x?page=2"), ("Next »", "/Thread-x?page=2")]),
    "vBulletin": ("/t.php?t=9", [("2", "/t.php?t=9&page=2"), ("... 40", "/t.php?t=9&page=40")]),
    "FluxBB": ("/viewtopic.php?id=9", [("2", "/viewtopic.php?id=9&p=2"), ("3", "/viewtopic.php?id=9&p=3")]),
    "reddit": ("/r?count=25&after=a", [("‹ prev", "/r?count=26&before=b"), ("next", "/r?count=50&after=c")]),
    "Hacker News": ("/news?p=2", [("More", "/news?p=3")]),
    "Discourse": ("/c/x", [("next page →", "/c/x?page=1")]),
    "shop": ("/s/r?k=b", [("2", "/s/r_pg_2?k=b&page=2"), ("3", "/s/r_pg_3?k=b&page=3")]),
    "ranges": ("/list", [("1 - 20", "/list?start=0"), ("21 - 40", "/list?start=20")]),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_page_links_of_well_known_engines_are_found(engine: str):
    page, links = ENGINES[engine]
    assert NO_PAGE_LINK not in kinds(page, *links)


def test_the_url_alone_tells_the_page_before_and_after():
    assert kinds("/list/page/3", ("Mehr davon laden", "/list/page/4"), ("?", "/list/page/2")) == [NEXT, PREV]
    assert kinds("/list/page/3", ("All on one page", "/list/page/9")) == [NO_PAGE_LINK]


def test_a_bar_of_ends_and_steps_is_a_page_link_whatever_its_urls():
    found = kinds("/comic/b", ("First", "/comic/a"), ("Prev", "/comic/x"), ("Next", "/comic/c"))
    assert found == [FIRST, PREV, NEXT]
    assert kinds("/comic/b", ("Prev", "/comic/x"), ("Next", "/comic/c")) == [NO_PAGE_LINK, NO_PAGE_LINK]
