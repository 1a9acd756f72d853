"""Links to copies: what teaches them, what must not, and that wrong ones are given up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import PageFetched, decode, encode
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.limits.copies import Evidence
from linkscore_scoring.state import packed, unpacked
from linkscore_scoring.testing.crawl import page_of
from linkscore_scoring.types import UrlRule
from support.recorded_crawls import fetched, state

COPY, HOST = 5, "http://a.test"


def config(copies: Mapping[str, Any] | None = None, **changes: Any) -> CrawlConfig:
    limits = {} if copies is None else {"copies": dict(copies)}
    return CrawlConfig("c", PolicyChoice("breadth_first"), limits=limits, **changes)


def crawl_with(skip_above: float = 0.9) -> CrawlModel:
    return CrawlModel(config({"skip_above": skip_above}), ticket_key=b"key")


def shown(
    path: str, *texts: str, links: tuple[str, ...] = (), canonical: str = "", site: str = "a.test"
) -> PageFetched:
    """Return a page with texts of 200 characters each, and with links."""
    url = f"http://{site}{path}"
    features = page_of(
        url,
        ["html/body/p/text()"],
        links=[(f"http://{site}{to}", "html/body/a") for to in links],
        texts=[(text, 200) for text in texts],
        canonical=canonical and HOST + canonical,
    )
    return fetched(url, features, site=site)


def feed(crawl: CrawlModel, *events: PageFetched) -> list[Any]:
    return [crawl.apply(crawl.seq + 1, event) for event in events]


def skips(crawl: CrawlModel, *paths: str) -> list[bool]:
    urls = [HOST + path for path in paths]
    found = CrawlQueries(crawl).score_links(urls, urls, [b""] * len(urls), [""] * len(urls))
    return [reason == COPY for reason in found.skip_reasons or [0] * len(urls)]


def told(crawl: CrawlModel) -> dict[str, Evidence]:
    """Return the hypotheses by the pattern of their links, and by the key."""
    shard = crawl.shard("a.test")
    assert shard.limits.copies is not None
    return {
        shard.model.patterns.text(pattern) + (f" {key}=" if key else ""): kept
        for (pattern, key), kept in shard.limits.copies.hypotheses.all.items()
    }


def rules(crawl: CrawlModel) -> list[UrlRule]:
    shard = crawl.shard("a.test")
    return shard.limits.copies.rules(shard.model)


def entry(n: int, *forms: str) -> PageFetched:
    """Return a front page that links `n` things, in each form of their URLs."""
    return shown("/", "front", links=tuple(form.format(i) for i in range(n) for form in forms))


def pairs(n: int, plain: str, copy: str, *, start: int = 0) -> Iterator[PageFetched]:
    """Yield `n` pages, each with its copy after it."""
    for i in range(start, start + n):
        yield shown(plain.format(i), f"text {i}")
        yield shown(copy.format(i), f"text {i}")


KINDS = [
    ("/item/{}", "/item/{}?sid=77"),
    ("/item/{}", "/item/{}?amp"),
    ("/list/{}", "/list/{}?sort=price"),
    ("/post/{}", "/post/{}?replytocom=5"),
    ("/show?id={}", "/show?id={}&print=1"),
    ("/viewtopic.php?t={}", "/viewtopic.php?p={}"),
    ("/item/{}", "/print/{}"),
    ("/show.php?id={}", "/print.php?id={}"),
    ("/show.php?id={}&page=1", "/show.php?id={}&page=1&print=1"),
    ("/item/{}", "/item/{}/amp"),
]
"""Forms of URLs of a page and of its copy."""


@pytest.mark.parametrize(("plain", "copy"), KINDS)
def test_links_of_a_kind_that_only_copies_are_to_skip(plain: str, copy: str) -> None:
    crawl = crawl_with()
    feed(crawl, entry(40, plain, copy), *pairs(14, plain, copy))
    assert skips(crawl, copy.format(30), plain.format(30)) == [False, False]
    feed(crawl, *pairs(3, plain, copy, start=14))
    assert skips(crawl, copy.format(30), plain.format(30)) == [True, False]


@pytest.mark.parametrize(("plain", "copy"), KINDS)
def test_rules_fit_the_links_that_are_to_skip_and_not_their_originals(plain: str, copy: str) -> None:
    crawl = crawl_with()
    feed(crawl, entry(40, plain, copy), *pairs(17, plain, copy))
    fits = [re.compile(rule.pattern).search for rule in rules(crawl)]
    assert any(search(HOST + copy.format(30)) for search in fits)
    assert not any(search(HOST + plain.format(30)) for search in fits)


def test_a_rule_that_would_fit_links_of_another_pattern_is_left_out() -> None:
    """Names below /print are copies, and numbers there are none: one expression would fit both."""
    names = ["".join(letters) for letters in product("abcdefg", repeat=2)]
    links = tuple(f"/{form}/{name}" for name in names for form in ("item", "print"))
    copies = [shown(f"/{form}/{name}", name) for name in names[:-9] for form in ("item", "print")]
    mixed, alone = crawl_with(), crawl_with()
    feed(mixed, shown("/", "front", links=(*links, *(f"/print/{n}" for n in range(9)))), *copies)
    feed(alone, shown("/", "front", links=links), *copies)
    assert skips(mixed, "/print/gg", "/print/7") == [True, False]
    assert rules(mixed) == []
    assert [rule.pattern for rule in rules(alone)] == [r"^https?://a\.test/print/[^/:?#]+$"]


def test_of_links_that_differ_in_a_void_key_one_is_fetched() -> None:
    crawl = crawl_with()
    feed(crawl, entry(40, "/item/{}", "/item/{}?sid=1"), *pairs(16, "/item/{}", "/item/{}?sid=1"))
    links = tuple(f"/item/90?sid={n}" for n in range(3, 6))
    feed(crawl, shown("/more", "more", links=links))
    assert skips(crawl, *links) == [False, True, False]  # the first of its kind, and one to look again
    feed(crawl, fetched(f"{HOST}{links[0]}", site="a.test"))  # failed: another takes its place
    assert skips(crawl, links[1]) == [False]


@pytest.mark.parametrize(
    "places", [["/x{}/p"], ["/x{}"], ["/a/p", "/b/p", "/c/p", "/d/p"], ["//other.test/{}/p"]]
)
def test_pages_of_another_folder_or_host_say_nothing_of_a_key_here(places: list[str]) -> None:
    crawl = crawl_with()
    feed(crawl, entry(200, "/thread.php?t={}"))
    for n in range(48):
        place = places[n % len(places)].format(n // 6)
        site, path = (
            ("other.test", place.removeprefix("//other.test"))
            if place.startswith("//")
            else ("a.test", place)
        )
        event = shown(f"{path}?t={n}", f"one text of {path}", site=site)
        feed(crawl, replace(event, site="a.test"))
    threads = [f"/thread.php?t={n}" for n in range(200)]
    assert skips(crawl, *threads) == [False] * 200
    for n in range(40):
        feed(crawl, shown(threads[n], f"thread {n}"))
        assert sum(skips(crawl, *threads)) == 0


def test_pages_that_name_an_original_teach_when_it_is_fetched() -> None:
    crawl = crawl_with()
    feed(crawl, entry(40, "/t/{}", "/p/{}"))
    for n in range(20):
        feed(crawl, shown(f"/p/{n}", f"text {n}", canonical=f"/t/{n}"))
    assert "a.test/p/#" not in told(crawl)
    for n in range(20):
        feed(crawl, shown(f"/t/{n}", f"text {n}", canonical=f"/t/{n}"))
    assert skips(crawl, "/p/30", "/t/30") == [True, False]


OWN = [f"post {{}} {n}" for n in range(60)]
OF_FOUR = [f"product {{1}} {n}" for n in range(6)]
MENU = [f"menu {n}" for n in range(30)]


@pytest.mark.parametrize(
    ("plain", "copy", "texts", "more", "between"),
    [
        pytest.param("/x/{}", "/x/{}?sid=1", [*OF_FOUR, *OWN[:4]], [], [], id="shared description"),
        pytest.param("/x/{}", "/x/{}?sid=1", OWN[:5], [], OWN[:15], id="view of all posts"),
        pytest.param("/x/{}", "/print/{}", OWN[:36], OWN[36:40], [], id="print view of a long page"),
        pytest.param("/x/{}", "/print/{}", [*MENU, *OWN], [], [], id="menus that are common later"),
    ],
)
def test_long_pages_and_pages_that_share_text_have_copies(
    plain: str, copy: str, texts: list[str], more: list[str], between: list[str]
) -> None:
    crawl = crawl_with()
    feed(crawl, entry(60, plain, copy, "/all/{}"))
    for form, blocks in ((plain, texts + more), ("/all/{}", between), (copy, texts)):
        pages = ([each.format(i, i // 4) for each in blocks] for i in range(40) if blocks)
        feed(crawl, *(shown(form.format(i), *page) for i, page in enumerate(pages)))
    assert skips(crawl, copy.format(50), plain.format(50)) == [True, False]


@pytest.mark.parametrize("forms", [("/t/{}", "/p/{}"), ("/p/{}", "/t/{}")])
def test_pages_that_name_an_original_which_shows_something_else_are_no_copies(forms: tuple[str, str]) -> None:
    """Such as second pages of threads that name the first, where some are no more and show it."""
    crawl = crawl_with()
    feed(crawl, entry(120, *forms))
    for n in range(100):
        texts = {"/t/{}": f"text {n}", "/p/{}": f"text {n}" if n % 5 == 0 else f"other {n}"}
        feed(crawl, *(shown(form.format(n), texts[form], canonical=f"/t/{n}") for form in forms))
    assert skips(crawl, "/p/110", "/t/110") == [False, False]


def test_urls_that_redirect_to_known_pages_teach() -> None:
    crawl = crawl_with()
    feed(crawl, entry(40, "/item/{}", "/go/{}"))
    for n in range(20):
        feed(crawl, shown(f"/item/{n}", f"text {n}"))
        feed(crawl, replace(shown(f"/item/{n}", f"text {n}"), requested_key=f"{HOST}/go/{n}"))
    assert skips(crawl, "/go/30", "/item/30") == [True, False]


# What must not teach


def no_copies(crawl: CrawlModel) -> bool:
    return all(each.probability < 0.9 for each in told(crawl).values())


@pytest.mark.parametrize("key", ["page", "start", "p", "from"])
def test_pages_of_a_list_are_no_copies_though_most_show_the_same(key: str) -> None:
    crawl, second = crawl_with(), "/list/{}?" + f"{key}=2"
    feed(crawl, entry(60, "/list/{}", second), *pairs(40, "/list/{}", second))
    assert not any(name.endswith(f" {key}=") for name in told(crawl))


def test_a_key_that_matters_on_some_pages_is_void_on_none_of_their_kind() -> None:
    crawl = crawl_with()
    feed(crawl, entry(60, "/a/{}", "/a/{}?view=x"), *pairs(9, "/a/{}", "/a/{}?view=x"))
    for n in range(9, 18):
        feed(crawl, shown(f"/a/{n}", f"text {n}"), shown(f"/a/{n}?view=x", f"other {n}"))
    feed(crawl, *pairs(9, "/a/{}", "/a/{}?view=x", start=18))
    assert skips(crawl, "/a/50?view=x") == [False]
    tried = told(crawl)["a.test/a/# view="]
    assert (tried.tries, tried.agreed) == (27, 18)


def same_everywhere(text: str) -> Iterator[PageFetched]:
    for n in range(40):
        yield shown(f"/x/{n}", *([text] if text else []))
        yield shown(f"/x/{n}?id=1", *([text] if text else []))
        yield shown(f"/y/{n}", *([text] if text else []))


@pytest.mark.parametrize("text", ["This page was not found", "Please log in", "Loading", ""])
def test_pages_that_all_show_the_same_are_one_try(text: str) -> None:
    crawl = crawl_with()
    feed(crawl, entry(60, "/x/{}", "/x/{}?id=1", "/y/{}"), *same_everywhere(text))
    assert no_copies(crawl)
    assert all(each.tries <= 2 for each in told(crawl).values())
    assert skips(crawl, "/x/50?id=1", "/y/50") == [False, False]


def test_pages_of_little_text_of_their_own_teach_nothing() -> None:
    crawl = crawl_with()
    feed(crawl, entry(60, "/x/{}", "/y/{}"))
    for n in range(40):
        for path in ("x", "y"):
            page = shown(f"/{path}/{n}", "frame 1", "frame 2", f"text {n}")
            assert page.features is not None
            features = replace(page.features, block_chars=[200, 200, 30])
            feed(crawl, replace(page, features=features))
    assert no_copies(crawl)


def test_pages_found_only_on_the_copies_are_not_lost_for_them() -> None:
    crawl = crawl_with()
    feed(crawl, entry(40, "/p/{}"))
    for n in range(30):
        feed(crawl, shown(f"/p/{n}", f"text {n}", links=(f"/t/{n}",)), shown(f"/t/{n}", f"text {n}"))
    assert skips(crawl, "/p/35", "/t/35") == [False, True]


def test_two_kinds_that_copy_each_other_are_not_both_to_skip() -> None:
    crawl = crawl_with(0.5)
    feed(crawl, entry(60, "/a/{}", "/b/{}"))
    for n in range(40):
        first, second = ("/a/{}", "/b/{}") if n % 2 else ("/b/{}", "/a/{}")
        feed(crawl, *pairs(1, first, second, start=n))
    assert not all(skips(crawl, "/a/50", "/b/50"))


# Given up, changed, kept


def test_a_link_is_let_through_now_and_then_and_a_wrong_hypothesis_is_given_up() -> None:
    crawl = crawl_with()
    feed(crawl, entry(20, "/item/{}", "/print/{}"), *pairs(16, "/item/{}", "/print/{}"))
    new = [f"/print/{n}" for n in range(100, 140)]
    (outcome,) = feed(crawl, shown("/more", "more", links=tuple(new)))
    let = [new[row] for row, reason in enumerate(outcome.links.skip_reasons) if not reason]
    assert len(let) == 1
    feed(crawl, shown(let[0], "text of its own"))
    assert skips(crawl, *new) == [False] * 40


def test_state_and_replay_tell_the_same_copies() -> None:
    crawl, log, linking = crawl_with(), [], shown("/item/50", links=tuple(f"/new/{n}" for n in range(9)))
    keyed = pairs(17, "/list/{}", "/list/{}?sort=up")
    forms = ("/item/{}", "/print/{}", "/list/{}", "/list/{}?sort=up")
    moved = (replace(shown(f"/new/{n}", "b"), requested_key=f"{HOST}/item/{n}") for n in range(9))
    for event in (entry(40, *forms), *pairs(20, "/item/{}", "/print/{}"), *keyed, linking, *moved):
        log.append(encode(event))
        feed(crawl, decode(log[-1]))  # type: ignore[arg-type]
    again, loaded = crawl_with(), crawl_with()
    feed(again, *map(decode, log))  # type: ignore[arg-type]
    loaded.load_state(unpacked(packed(crawl.to_state())))
    assert state(again) == state(crawl) == state(loaded)
    assert told(loaded) == told(crawl)
    assert skips(loaded, "/print/30", "/list/30?sort=up") == [True, True]
    more = list(pairs(3, "/item/{}", "/print/{}", start=30))
    feed(crawl, *more)
    feed(loaded, *more)
    assert state(loaded) == state(crawl)
