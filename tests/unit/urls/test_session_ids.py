"""Session ids are taken out of URLs, content is not."""

from __future__ import annotations

import hashlib

import pytest

from linkscore_scoring.state import packed, unpacked
from linkscore_scoring.urls.session_ids import MAX_KEYS, MAX_RESTS, SURE_NAMES, SessionIds

PAGE = "http://f.org/page"
HEX = "6ef2dc853f8f83ceb07b30be0370bb0d"


def token(n: int) -> str:
    return hashlib.md5(str(n).encode()).hexdigest()


def links(value: str, *, key: str = "xploidid", n: int = 5) -> list[str]:
    return [f"http://f.org/p{i}?id={i}&{key}={value}" for i in range(n)]


@pytest.mark.parametrize(
    ("url", "stripped"),
    [
        (f"http://f.org/t?PHPSESSID={HEX}", "http://f.org/t"),
        ("http://f.org/t?osCsid=u3p6v1q8c9k2m5n7&x=1", "http://f.org/t?x=1"),
        ("http://f.org/t?ASPSESSIONID=GCBNDLHBKNFOPLDKKBMGCLPI", "http://f.org/t"),
        ("http://f.org/t?zenid=a1b2c3d4,e5f6-a7b8c9&x=1", "http://f.org/t?x=1"),
        ("http://f.org/t?CFID=12345&CFTOKEN=88776655", "http://f.org/t"),
        ("http://f.org/a;jsessionid=0A1B2C.node1?x=1", "http://f.org/a?x=1"),
        ("http://f.org/a;jsessionid=0A1B2C/b", "http://f.org/a/b"),
        ("http://f.org/(S(lit3py55t21z5v55vlm25s55))/default.aspx", "http://f.org/default.aspx"),
    ],
)
def test_usual_session_ids_are_taken_out_at_once(url: str, stripped: str):
    assert SessionIds().strip(url) == stripped


@pytest.mark.parametrize(
    "url",
    [
        "http://f.org/?s=garden+chair",
        "http://f.org/?s=garden",
        "http://f.org/story?sid=1234",
        "http://f.org/story?sid=16/03/18/0425227",
        f"http://f.org/file?hash={HEX}",
        f"http://f.org/story?sid={HEX}",
        "http://f.org/t?id=7&start=15",
        "http://f.org/ten-cars-of-2016-and-2017",
        "http://f.org/wiki/A;b=c",
        "http://f.org/t?PHPSESSID=",
        "http://conf.org/talk?session_id=20190001",
        "http://conf.org/talk?sessionid=day2-talk3-room4-hall5",
        "http://conf.org/talk?sessid=introduction-to-databases",
        "http://conf.org/talk;sid=1234",
        "http://cf.org/list.cfm?cfid=100",
        "http://f.org/t?",
    ],
)
def test_searches_stories_and_other_content_stay(url: str):
    assert SessionIds().strip(url) in (url, url.removesuffix("?"))


def test_a_key_is_learned_when_links_come_again_with_another_value():
    ids = SessionIds()
    ids.observe(PAGE, links(token(1)))
    assert ids.strip(links(token(9))[0]) == links(token(9))[0]
    ids.observe(PAGE, links(token(2), n=3))
    assert ids.names() == ["xploidid"]
    assert ids.strip(f"http://f.org/new?xploidid={token(9)}&id=1") == "http://f.org/new?id=1"


def test_a_likely_name_is_learned_from_one_link_that_comes_again():
    ids = SessionIds()
    ids.observe(PAGE, [*links(token(1), key="SID"), "http://f.org/login"])
    ids.observe(PAGE, [links(token(2), key="SID")[0], "http://f.org/p9", "http://f.org/p8"])
    assert ids.names() == []  # less than half of a page's links may be an article's own
    ids.observe(PAGE, links(token(3), key="SID"))
    assert ids.names() == ["sid"]
    assert ids.strip(f"http://f.org/new?id=1&sid={token(9)}") == "http://f.org/new?id=1"


def test_a_name_that_proves_to_tell_pages_apart_is_taken_back():
    ids = SessionIds()
    for n in range(2):
        ids.observe(PAGE, links(token(n)))
    for n in range(3):
        assert ids.names() == (["xploidid"] if n < 2 else [])
        ids.observe(PAGE, [*links(token(n), n=2), *links(token(n + 1), n=2)])


def test_what_a_page_is_about_is_no_session_id_though_all_its_links_carry_it():
    ids = SessionIds()
    for n in range(9):
        project = f"http://f.org/p/{token(n)}"
        ids.observe(project, [f"{project}/{tab}" for tab in ("code", "wiki", "issues")])
    assert ids.names() == []


def test_a_token_in_the_path_is_learned_by_its_place():
    ids = SessionIds()
    for n in range(2):
        ids.observe(PAGE, [f"http://f.org/{token(n)}/page/{i}" for i in range(4)])
    assert ids.names() == ["/0"]
    assert ids.strip(f"http://f.org/{token(7)}/page/9") == "http://f.org/page/9"
    assert ids.strip(f"http://f.org/{token(7)}") == "http://f.org/"
    plain = "http://f.org/about/page/9"
    assert ids.strip(plain) == plain


def test_memory_is_bounded_and_survives_as_plain_values():
    ids = SessionIds()
    for n in range(MAX_KEYS + 50):
        ids.observe(PAGE, links(token(n), key=f"k{n}", n=MAX_RESTS + 50 if n < 2 else 2))
    state = ids.to_state()
    assert len(state["names"]) == MAX_KEYS
    assert max(len(name["values"]) for name in state["names"].values()) == MAX_RESTS
    other = SessionIds()
    other.load_state(unpacked(packed(state)))
    assert other.to_state() == state


def test_every_usual_name_is_looked_for():
    for name in SURE_NAMES:
        assert SessionIds().strip(f"http://f.org/t?id=7&{name.upper()}={HEX}") == "http://f.org/t?id=7"


def test_of_a_url_with_very_many_random_values_the_first_are_looked_at():
    ids = SessionIds()
    ids.observe(f"{PAGE}0", ["http://f.org/t?" + "&".join(f"k{n:03}={HEX}" for n in range(200))])
    assert list(ids.to_state()["names"]) == [f"k{n:03}" for n in range(8)]
