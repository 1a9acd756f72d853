"""`Crawl.respect`: what sites and pages reserve, which links it forbids, and that states keep it."""

from __future__ import annotations

import gzip
import json
import resource
import zlib
from dataclasses import replace
from typing import Any

import brotli
import pytest
import zstandard

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged, PageFetched, decode, encode
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.limits.respect import (
    MAX_SITE_CHARS,
    ROBOTS,
    TDMREP,
    matches,
    read_rules,
    reserved_at,
    respect_facts,
    said_by_head,
    said_by_headers,
    signals,
)
from linkscore_scoring.state import packed, unpacked
from linkscore_scoring.types import SentPage
from support.recorded_crawls import page, state

RESPECT = 4  # SKIP_REASON_RESPECT
TRAINED = "Content-Signal: search=yes, ai-train=no"


def crawl_of(*uses: str, **changes: Any) -> CrawlModel:
    limits = {"respect": list(uses)} if uses else {}
    return CrawlModel(
        CrawlConfig("c", PolicyChoice("breadth_first"), limits=limits, **changes), ticket_key=b"key"
    )


def sent(url: str, *links: str, site: str = "a.test", **of_page: Any) -> PageFetched:
    """Return the event of a page as the server makes it of a crawl that respects something."""
    event = page(url, *links, site=site)
    assert event.features is not None
    facts = respect_facts(SentPage(0, url, **of_page))
    return replace(event, features=replace(event.features, facts=facts))


def robots(*lines: str, host: str = "a.test") -> PageFetched:
    return sent(f"http://{host}{ROBOTS}", body="\n".join(lines).encode())


def tdmrep(*rules: Any) -> PageFetched:
    return sent(f"http://a.test{TDMREP}", body=json.dumps(rules).encode())


def feed(crawl: CrawlModel, *events: PageFetched) -> Any:
    return [crawl.apply(crawl.seq + 1, event) for event in events][-1]


def skipped(crawl: CrawlModel, *urls: str) -> list[bool]:
    found = CrawlQueries(crawl).score_links(urls, urls, [b""] * len(urls), [""] * len(urls))
    return [reason == RESPECT for reason in found.skip_reasons or [0] * len(urls)]


def test_a_site_that_changes_its_mind_is_believed() -> None:
    crawl = crawl_of("ai-train")
    feed(crawl, robots("User-agent: *", TRAINED), robots("User-agent: *", "Disallow: /"))
    assert skipped(crawl, "http://a.test/1") == [False]


@pytest.mark.parametrize(
    ("of_page", "reserved"),
    [
        ({"headers": [("x-robots-tag", "noindex")]}, ["search"]),
        ({"headers": [("Content-Signal", "ai-train=no, ai-input=no")]}, ["ai-input", "ai-train"]),
        ({"headers": [("TDM-Reservation", "1"), ("tdm-reservation", "0")]}, ["ai-train", "tdm"]),
        ({"body": b"<meta name='tdm-reservation' content='1'>"}, ["ai-train", "tdm"]),
        ({"body": b'<META CONTENT="NOAI, noarchive" NAME=Robots>'}, ["ai-train"]),
        ({"headers": [("X-Robots-Tag", "index"), ("Server", "x"), ("TDM-Reservation", "yes")]}, []),
        *(
            ({"headers": [("X-Robots-Tag", f"unavailable_after: {date}, noindex")]}, ["search"])
            for date in ("Wed, 23 Jun 2027 15:00:00 GMT", "23-Jun-27 15:00:00 EST", "2027-06-23T15:00:00Z")
        ),
        ({"headers": [("X-Robots-Tag", "max-snippet: 5, max-image-preview:none, noindex")]}, ["search"]),
        ({"headers": [("X-Robots-Tag", "noarchive, otherbot: unavailable_after: x, noindex")]}, []),
        (
            {"body": b"<meta name=robots content='unavailable_after: 25 Aug 2027 15:00:00 EST, noindex'>"},
            ["search"],
        ),
        ({"body": b"<meta name=robots content=noindex>", "content_encoding": "br"}, ["search"]),
        ({"body": b"<meta name=robots content=noindex>", "content_encoding": "none"}, ["search"]),
    ],
)
def test_a_page_says_what_it_reserves_itself(of_page: dict[str, Any], reserved: list[str]) -> None:
    crawl = crawl_of("ai-train", "ai-input", "search", "tdm")
    outcome = feed(crawl, sent("http://a.test/", "http://a.test/1", **of_page))
    assert (outcome.reserved, outcome.links.skip_reasons) == (reserved, None)


@pytest.mark.parametrize(
    "of_page",
    [
        {"headers": [("X-Robots-Tag", "noarchive, nofollow")]},
        {
            "headers": [
                ("X-Robots-Tag", "unavailable_after: 25 Jun 2031 15:00:00 GMT"),
                ("X-Robots-Tag", "none"),
            ]
        },
        {"body": b'<meta name="robots" content="noindex nofollow">'},
    ],
)
def test_links_of_a_page_that_asks_not_to_follow_them_are_to_skip(of_page: dict[str, Any]) -> None:
    event = sent("http://a.test/", "http://a.test/1", **of_page)
    crawl = crawl_of("tdm")
    assert feed(crawl, event).links.skip_reasons == [RESPECT]
    assert crawl.answer_again(event).links.skip_reasons == [RESPECT]
    assert skipped(crawl, "http://a.test/1") == [False]  # another page may link to it
    assert feed(crawl_of(), event).links.skip_reasons is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("otherbot: noindex, nofollow", set()),
        ("noindex, otherbot: nofollow", {"search"}),
        ("max-snippet: 20, max-age: 3, noindex", {"search"}),
        ("*: noindex; nofollow", {"search", "nofollow"}),
        ("bingbot: none, *: noindex", {"search"}),
        ("NONE", {"search", "nofollow"}),
        ("noindexed, unfollow, \x00noindex, \r\n", set()),
    ],
)
def test_what_is_said_to_one_crawler_by_name_is_not_said_to_all(value: str, said: set[str]) -> None:
    assert said_by_headers([("X-Robots-Tag", value)]) == said


@pytest.mark.parametrize(
    ("lines", "path", "reserved"),
    [
        (["User-agent: *", "Content-Signal: ai-train=no"], "/", {"ai-train"}),
        (["Content-signal: ai-train=no # not for models"], "/", {"ai-train"}),
        (["User agent: OtherBot", "Content-Signal: ai-train=no"], "/", set()),
        (["<!-- robots -->", "User-agent: *", "Content-Signal: ai-train=no"], "/", {"ai-train"}),
        (["User-agent: OtherBot", "User-agent: *", "Content-Signal: ai-train=no"], "/", {"ai-train"}),
        (["User-agent: *", "Allow: /", "User-agent: B", "Content-Signal: ai-train=no"], "/", set()),
        (["User-agent: *", "Content-Signal: /a ai-train=no"], "/b", set()),
        (["User-agent: *", "Content-Signal: /a ai-train=no"], "/ab", {"ai-train"}),
        (["Content-Signal: ai-train=no", "Content-Signal: /open/ ai-train=yes"], "/open/1", set()),
        (["Content-Signal: /x ai-train=yes", "Content-Signal: /x ai-train=no"], "/x", {"ai-train"}),
        (["# Content-Signal: ai-train=no", "Content-Signal ai-train=no"], "/", set()),
        (["User-agent: *", "Sitemap: /s", "User-agent: B", "Content-Signal: ai-train=no"], "/", {"ai-train"}),
    ],
)
@pytest.mark.parametrize(
    ("end", "codec"), [("\n", "utf-8"), ("\r\n", "utf-16"), ("\r", "utf-8-sig"), ("\0\n", "utf-16-le")]
)
def test_robots(lines: list[str], path: str, reserved: set[str], end: str, codec: str) -> None:
    assert reserved_at(read_rules(ROBOTS, end.join(lines).encode(codec), ""), path) == reserved


@pytest.mark.parametrize(
    ("rules", "path", "reserved"),
    [
        ([{"location": "/", "tdm-reservation": "1"}], "/a", True),
        (
            [{"location": "/open*", "tdm-reservation": 0}, {"location": "/", "tdm-reservation": 1}],
            "/open/1",
            False,
        ),
        ([{"location": "/*.pdf$", "tdm-reservation": 1}], "/a.pdf?b", False),
        (
            [{"location": ["/"], "tdm-reservation": 1}, 7, None, {"location": "/", "tdm-reservation": True}],
            "/",
            False,
        ),
    ],
)
def test_tdmrep(rules: list[Any], path: str, reserved: bool) -> None:
    found = reserved_at(read_rules(TDMREP, json.dumps(rules).encode(), ""), path)
    assert found == ({"ai-train", "tdm"} if reserved else set())


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "9" * 100_000, "null", '"a"', "\x00\xff", "<p>"])
def test_what_is_no_tdmrep_says_nothing(text: str) -> None:
    assert not read_rules(TDMREP, text.encode("latin-1"), "")


def test_more_rules_than_are_kept_reserve_everywhere() -> None:
    lines = [f"Content-Signal: /{n} ai-train=no" for n in range(60)]
    assert read_rules(ROBOTS, "\n".join(lines).encode(), "") == [["/", ["ai-train"], []]]
    stars = f"Content-Signal: /{'a*' * 200} ai-train=no"
    assert read_rules(ROBOTS, stars.encode(), "") == [["/", ["ai-train"], []]]


def test_a_site_of_many_hosts_with_long_rules_is_bounded() -> None:
    crawl = crawl_of("ai-train", scope="domain")
    for n in range(40):
        line = f"Content-Signal: /{'x' * 9_000} ai-train=no"
        feed(crawl, robots(line, host=f"h{n}.test"))
    files = crawl.sites["a.test"].limits.respect.to_state()["files"]
    assert len(files) == 40
    assert sum(len(row[0]) for rows in files.values() for row in rows) < MAX_SITE_CHARS + 100


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("", lambda b: b),
        ("", gzip.compress),
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda b: zlib.compress(b)[2:-4]),
        ("br", brotli.compress),
        ("zstd", zstandard.compress),
    ],
)
def test_the_head_of_a_compressed_page_is_read(encoding: str, pack: Any) -> None:
    body = b'<html><head><meta name="robots" content="noindex">' + b"<p>text" * 100_000
    assert said_by_head(pack(body), encoding) == {"search"}


@pytest.mark.parametrize(
    "body",
    [
        b"<meta name=robots content='a>b, noindex'>",
        b"<meta name=robots content=no&#105;ndex>",
        b"<meta name=robots content=noindex content=all>",
        b"<!--><meta name=robots content=noindex>-->",
        b"<!-- x --!><meta name=robots content=noindex>",
        b"<template><p></template><meta/name='robots'/content='noindex'>",
    ],
)
def test_a_meta_is_read_as_browsers_read_it(body: bytes) -> None:
    assert said_by_head(body, "") == {"search"}


@pytest.mark.parametrize(
    "body",
    [
        b'<!-- <meta name="robots" content="noindex"> -->',
        b'<SCRIPT>"<meta name=robots content=noindex>"</SCRIPT>',
        b'<style>/* <meta name="robots" content="none"> */',
        b'<metadata name="robots" content="noindex">',
        b" " * 70_000 + b'<meta name="robots" content="noindex">',
        b'<meta name="googlebot" content="noindex">',
        *(
            b'<%s><meta name="robots" content="none"></%s>' % (tag, tag)
            for tag in (b"title", b"textarea", b"iframe", b"xmp", b"template", b"NOSCRIPT", b"noembed")
        ),
    ],
)
def test_what_is_no_meta_of_the_head_says_nothing(body: bytes) -> None:
    assert said_by_head(body, "") == set()


def test_a_pattern_of_many_stars_takes_no_time_to_miss() -> None:
    assert not matches("/" + "*a" * 99 + "b$", "/" + "a" * 2_000)
    assert matches("/%24*/x$", "/$/y/x")
    assert not matches("/a*bc*c$", "/abc")
    assert not matches("/a$", "/ab")


def test_patterns_take_memory_of_their_length() -> None:
    """A thousand are remembered: as expressions those of 10,000 characters took 2 GB."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for n in range(100):
        pattern = f"/{n:09d}" * 999 + "*a" * 20
        assert matches(pattern, pattern.replace("*", "x"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024


@pytest.mark.parametrize("text", ["a" * 400_000, "ai-train=no" * 40_000, " " * 400_000, "=" * 400_000])
def test_a_long_line_takes_time_of_its_length(text: str) -> None:
    """A search that tried each place anew would take minutes."""
    assert signals(text).keys() <= {"ai-train"}
    assert len(read_rules(ROBOTS, f"Content-Signal: {text}".encode(), "")) <= 1


@pytest.mark.parametrize("part", [b"<meta ", b"<meta a='", b"<meta a=", b"<!--", b"<script>", b"<meta a=b>"])
def test_a_head_of_broken_tags_takes_time_of_its_length(part: bytes) -> None:
    assert said_by_head(part * (65_536 // len(part)), "") == set()


def test_state_and_replay_give_the_same_and_changes_hold_at_once() -> None:
    crawl, log = crawl_of("ai-train"), []
    for event in (robots(TRAINED), sent("http://a.test/", "http://a.test/1"), tdmrep({})):
        log.append(encode(event))
        feed(crawl, decode(log[-1]))
    again, loaded = crawl_of("ai-train"), crawl_of()
    feed(again, *map(decode, log))
    loaded.load_state(unpacked(packed(crawl.to_state())))
    assert state(again) == state(crawl) == state(loaded)
    assert skipped(loaded, "http://a.test/2") == [True]
    without = replace(loaded.config, limits={})
    loaded.apply(loaded.seq + 1, ConfigChanged(without.to_state()))
    assert skipped(loaded, "http://a.test/2") == [False]
