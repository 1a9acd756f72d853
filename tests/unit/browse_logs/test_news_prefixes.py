"""URL prefix trees: the example of the paper, delimiters, lookup."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.browse_logs.news import (
    NewsPages,
    NewsPrefix,
    WeighedRates,
    find_prefixes,
    prefix_of,
    steps_of,
)

PAPER = ["index.html", "folder/page.htm", "news.jsp?p=1", "news.jsp?p=2"]


def found(pages: dict[str, bool], theta: float = 0.8) -> list[str]:
    urls = [f"http://website.com/{path}" for path in pages]
    return [prefix.text for prefix in learned(urls, list(pages.values()), theta)]


def learned(urls: list[str], is_news: list[bool], theta: float) -> list[NewsPrefix]:
    n = len(urls)
    pages = NewsPages(urls, [steps_of(url) for url in urls], np.array(is_news, dtype=np.bool_), np.zeros(n))

    def rate(rows: np.ndarray[tuple[int], np.dtype[np.intp]]) -> tuple[float, float]:
        return float(pages.is_news[rows].mean()), 0.0

    return find_prefixes(pages, rate, theta=theta, min_pages=1, misfits=None)


def test_the_program_of_the_papers_figure_3_is_a_news_prefix() -> None:
    assert found(dict(zip(PAPER, [False, False, True, True], strict=True))) == ["website.com/news.jsp?"]


def test_the_share_must_exceed_theta() -> None:
    pages = {f"news/{i}": i > 0 for i in range(5)} | {"about": False}
    assert found(pages) == []
    assert found(pages, theta=0.79) == ["website.com/news/"]


PATHS = st.lists(st.sampled_from(["a", "b", "", "a?", "c?x=1"]), min_size=1, max_size=4).map("/".join)


@given(st.lists(st.tuples(PATHS, st.booleans()), min_size=1, max_size=40))
def test_prefixes_are_an_antichain_and_find_their_own_pages(pages: list[tuple[str, bool]]) -> None:
    urls = [f"http://a.test/{path}" for path, _ in pages]
    texts = [prefix.text for prefix in learned(urls, [news for _, news in pages], 0.6)]
    assert not any(a != b and a.startswith(b) for a in texts for b in texts)
    for url in urls:
        above = ["".join(steps_of(url)[:depth]) for depth in range(1, len(steps_of(url)) + 1)]
        assert [prefix_of(url, texts)] == ([text for text in above if text in texts] or [""])


def rows(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return np.array(numbers, dtype=np.intp)


def test_doubtful_pages_of_one_kind_add_up_to_what_no_threshold_sees() -> None:
    # Of 40 news pages a quarter look like other pages.
    ratios = np.where(np.arange(40) % 4 == 0, -0.5, 2.0)
    assert WeighedRates(ratios, [rows(*range(40))])(rows(*range(40)))[0] > 0.85


def test_folders_that_are_all_of_a_kind_let_few_pages_say_much() -> None:
    ratios = np.repeat([30.0, -30.0], 30)
    folders = [rows(*range(i, i + 5)) for i in range(0, 60, 5)]
    mixed = [rows(*range(i, 60, 12)) for i in range(12)]
    alike, unlike = WeighedRates(ratios, folders), WeighedRates(ratios, mixed)
    assert alike(rows(0, 1))[0] > 0.85
    assert unlike(rows(0, 1))[0] < 0.65
    assert alike(rows(0, 1))[1] <= alike(rows(0, 1))[0]
