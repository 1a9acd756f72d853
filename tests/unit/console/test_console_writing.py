"""What the console changes, who may make it change something, and what it says when the server is away."""

from __future__ import annotations

import re
from collections.abc import Callable

import click
import pytest
from lxml import html
from starlette.testclient import TestClient

from linkscore import Client, page
from linkscore_console.command import listening
from support.console.crawls import BOOKS, YOUNG
from support.small_site import HOST, body_of, url_of


def token_of(console: TestClient) -> str:
    return html.fromstring(console.get(teach(BOOKS)).text).xpath("string(//input[@name='token']/@value)")


def teach(crawl: str) -> str:
    return f"/crawls/{crawl}/sites/{HOST}/teach"


def test_answers_reach_the_crawl(writing: TestClient, target: str) -> None:
    asked = html.fromstring(writing.get(teach(BOOKS)).text)
    urls = asked.xpath("//article//input[@name='url']/@value")
    token = token_of(writing)
    wanted = writing.post(teach(BOOKS) + "/answer", data={"token": token, "url": urls[0], "answer": "wanted"})
    assert wanted.headers["location"] == teach(BOOKS)
    assert urls[0] in html.fromstring(writing.get(teach(BOOKS)).text).xpath("//ul[@class='hops']//a/@href")
    writing.post(teach(BOOKS) + "/answer", data={"token": token, "url": urls[1], "answer": "unwanted"})
    with Client(target) as client:
        assert urls[0] in [one.url for one in client.get_crawl(crawl=BOOKS).examples]
        assert client.get_activity(crawl=BOOKS).reported_count == 1
        asked = {one.url for one in client.suggest_examples(crawl=BOOKS, site=HOST, max_results=100).examples}
    assert not {urls[0], urls[1]} & asked


def test_an_example_is_named(writing: TestClient, target: str) -> None:
    form = {"token": token_of(writing), "url": url_of(2), "page_type": "thread"}
    assert writing.post(teach(YOUNG) + "/example", data=form).status_code == 303
    with Client(target) as client:
        assert [(one.url, one.page_type) for one in client.get_crawl(crawl=YOUNG).examples] == [
            (url_of(2), "thread")
        ]
    empty = writing.post(teach(YOUNG) + "/example", data={"token": token_of(writing), "url": ""})
    assert empty.status_code == 400


def test_templates_are_learned_when_asked_for(writing: TestClient, target: str) -> None:
    with Client(target) as client:
        client.ensure_crawl(crawl="on-demand")
        client.ingest_pages(
            crawl="on-demand", pages=[page(url=url_of(n), body=body_of(n)) for n in range(40)]
        )
    got = writing.post(f"/crawls/on-demand/sites/{HOST}/learn", data={"token": token_of(writing)})
    assert got.status_code == 303
    assert 'id="graph"' in writing.get(got.headers["location"]).text


FORMS = (
    f"/crawls/{BOOKS}/sites/{HOST}/learn",
    teach(BOOKS) + "/answer",
    teach(BOOKS) + "/example",
)


@pytest.mark.parametrize("path", FORMS)
def test_a_console_that_reads_takes_no_form_and_shows_none(console: TestClient, path: str) -> None:
    assert console.post(path, data={"token": "x"}).status_code == 403
    for view in ("/", f"/crawls/{BOOKS}", teach(BOOKS)):
        assert html.fromstring(console.get(view).text).xpath("//form[@method='post']") == []


@pytest.mark.parametrize("path", FORMS)
def test_a_form_of_another_site_is_refused(writing: TestClient, path: str) -> None:
    token = token_of(writing)
    for fields, headers in (
        ({}, {}),
        ({"token": "guessed"}, {}),
        ({"token": token}, {"Origin": "http://evil.test"}),
        ({"token": token}, {"Origin": "null"}),
    ):
        assert writing.post(path, data=fields, headers=headers).status_code == 403


def test_forms_that_cannot_be_ours_are_refused(writing: TestClient) -> None:
    assert writing.post(teach(YOUNG) + "/answer", content=b"\xff" * 10).status_code == 400
    assert writing.post(teach(YOUNG) + "/answer", content=b"a=1&" * 500).status_code == 400
    assert writing.post(teach(YOUNG) + "/answer", content=b"x" * 200_001).status_code == 413


@pytest.mark.parametrize("host", ["evil.test", "127.0.0.1.evil.test", "", "evil.test:7480", "[::1"])
def test_only_its_own_host_names_are_answered(console: TestClient, host: str) -> None:
    got = console.get("/", headers={"Host": host})
    assert (got.status_code, "crawls" in got.text) == ((421, False) if host != "[::1" else (200, True))


def test_every_answer_allows_its_own_files_only(console: TestClient) -> None:
    for path in ("/", "/static/console.js", "/static/vendor/cytoscape.js", "/no-such", "/crawls/no-such"):
        headers = console.get(path).headers
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"


def test_a_server_that_is_away_is_said(connected: Callable[..., TestClient]) -> None:
    console = connected(target="127.0.0.1:1", timeout_s=0.5)
    for path in ("/", f"/crawls/{BOOKS}", f"/crawls/{BOOKS}/sites/{HOST}/map"):
        got = console.get(path)
        assert got.status_code == 503
        said = html.fromstring(got.text).get_element_by_id("away-said").text_content()
        assert re.match(r"linkscore at 127\.0\.0\.1:1 does not answer: (DEADLINE_EXC|UNAV)", said)


@pytest.mark.parametrize("listen", ["7480", "localhost", "127.0.0.1:x", "127.0.0.1:99999", ":80"])
def test_an_address_that_cannot_be_listened_on_is_refused(listen: str) -> None:
    with pytest.raises(click.BadParameter, match="host:port"):
        listening(listen, writable=False)


def test_writing_is_for_this_machine_only() -> None:
    with pytest.raises(click.UsageError, match="--write listens on this machine only"):
        listening("0.0.0.0:0", writable=True)
    with listening("0.0.0.0:0", writable=False) as bound:
        assert bound.getsockname()[1]
    with listening("127.0.0.1:0", writable=True) as bound:
        assert bound.getsockname()[1]
