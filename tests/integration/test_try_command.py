"""`linkscore try`: a site on loopback crawled politely in two orders, and its archive replayed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest

from linkscore_lab.datasets.site import Reply
from linkscore_lab.trial import Web
from linkscore_scoring.errors import InvalidInput
from support.command_line import run
from support.replay_sites import page

TEXT = "each item is described in a text that no other page of the shop has, which goes on for a while " * 5
LISTS, ITEMS = 6, 8


class Shop(BaseHTTPRequestHandler):
    """Sixty pages about the shop come first on the front page; what must not be fetched is linked as well."""

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["User-Agent"]))  # type: ignore[attr-defined]
        status, headers, body = self.answer(self.path)
        self.send_response(status)
        for name, value in {"Content-Type": "text/html", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def answer(self, path: str) -> tuple[int, dict[str, str], str]:
        about, lists = [f"/about/{n}" for n in range(60)], [f"/list/{n}" for n in range(LISTS)]
        if path == "/robots.txt":
            return 200, {}, "User-agent: linkscore\nDisallow: /private\n"
        if path == "/start":
            return 302, {"Location": "/"}, ""
        if path == "/":
            beside = ["/private/1", "http://other.test/", "/away", "/again"]
            menu = "".join(f'<nav><a class=list href="{path}">a list</a></nav>' for path in lists)
            return 200, {}, page([*beside, *about]) + menu
        if path in ("/away", "/again"):
            return 302, {"Location": "http://other.test/" if path == "/away" else "/list/0"}, ""
        if path in about:
            return 200, {}, page(["/"], "about us")
        if path in lists:
            return 200, {}, page([f"/item{path[5:]}-{n}" for n in range(ITEMS)])
        if path.startswith("/item/"):
            return 200, {}, page(["/"], f"{path} {TEXT}")
        return 404, {}, "no such page"

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def shop() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        server.asked = []  # type: ignore[attr-defined]
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_site_is_crawled_in_two_orders_and_its_archive_ends_alike(
    shop: ThreadingHTTPServer, tmp_path: Path
) -> None:
    warc, report, figures = (tmp_path / name for name in ("s.warc.gz", "r.html", "f.json"))
    url = f"http://127.0.0.1:{shop.server_port}/start"
    order = ("--fetches", 80, "--relevant-url", "/item/")
    done = run("try", url, *order, "--delay", 0, "--warc", warc, "--report", report, "--json", figures)
    assert done.exit_code == 0, done.output
    assert "winner: linkscore" in done.output
    paths, agents = zip(*shop.asked, strict=True)  # type: ignore[attr-defined]
    assert len(paths) == len(set(paths)), "a page is fetched once, whoever asks"
    assert not {path for path in paths if path.startswith("/private")}
    assert all(agent.startswith("linkscore/") for agent in agents)
    plain, scored = json.loads(figures.read_text())["runs"]
    assert (plain["policy"], scored["policy"]) == ("breadth_first", "harvest")
    assert plain["fetched"] == scored["fetched"] == 80
    assert scored["curve"][-1] > plain["curve"][-1]
    assert "Harvest curves" in report.read_text()
    offline = run("try", warc, *order)
    assert "winner: linkscore" in offline.output
    assert len(shop.asked) == len(paths)  # type: ignore[attr-defined]


def test_a_site_read_to_its_last_page_is_a_tie(shop: ThreadingHTTPServer) -> None:
    done = run("try", f"http://127.0.0.1:{shop.server_port}/", "--fetches", 500, "--delay", 0)
    assert f"tied: linkscore {LISTS * ITEMS} target pages" in done.output
    assert "the site has no more pages" in done.output


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/private/1", "its robots.txt forbids it"),
        ("/nothing", "must be a page, got status 404"),
    ],
)
def test_what_cannot_be_tried_says_why(shop: ThreadingHTTPServer, path: str, says: str) -> None:
    done = run("try", f"http://127.0.0.1:{shop.server_port}{path}", "--delay", 0)
    assert done.exit_code == 1
    assert says in done.output
    for path in (__file__, "/nowhere/a.warc.gz"):
        assert (
            f"--warc: {path}: must be a new file" in run("try", "http://127.0.0.1:1/", "--warc", path).output
        )
    assert f"[URL|ARCHIVE]: {__file__}: must be a WARC file" in run("try", __file__).output
    assert "is no file, and no absolute http" in run("try", "no-such.warc.gz").output
    assert "does not answer" in run("try", "http://127.0.0.1:1/").output


@pytest.mark.parametrize(
    ("robots", "says"),
    [
        ({"/robots.txt": Reply(503, {}, b"")}, "forbids it, or cannot be read"),
        (
            {
                "/robots.txt": Reply(301, {"Location": "/r"}, b""),
                "/r": Reply(200, {}, "\ufeffUser-agent: *\nDisallow: /".encode("utf-16")),
            },
            "forbids it",
        ),
        ({"/robots.txt": Reply(200, {}, b"User-agent: *\nCrawl-delay: 90")}, "asks for 90 s between two"),
        ({}, ""),
    ],
    ids=["a server's fault", "redirected", "slow", "none"],
)
def test_a_site_is_asked_only_as_its_robots_txt_allows(robots: dict[str, Reply], says: str) -> None:
    answers = {"/": Reply(200, {}, b"<p>home"), **robots}

    def asks(url: str) -> Reply:
        return answers.get(urlsplit(url).path, Reply(404, {}, b""))

    if not says:
        assert Web("http://a.test/", asks).get("http://a.test/").status == 200
        return
    with pytest.raises(InvalidInput, match=says):
        Web("http://a.test/", asks)


def test_without_a_site_the_demonstration_site_is_tried() -> None:
    assert "winner: linkscore" in run("try", "--fetches", 60).output
