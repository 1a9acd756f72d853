"""A real Scrapy crawl says in plain lines what its settings ask for, whom it reached and what came of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2
from linkscore_lab.conformance import make_certificates
from support.crawlers import scrapy_run
from support.crawlers.page_server import serving_pages
from support.crawlers.scrapy_run import Run
from support.fake_linkscore import FakeLinkscore, serve
from support.server_process import serving

NOBODY = "127.0.0.1:9"  # the port of discard, where nothing listens


def body_of(path: str) -> str:
    """Return a page of a site of threads that link to twelve others each."""
    number = int(path.rpartition("/")[2])
    links = "".join(f'<li><a href="/t/{(number * 7 + i) % 500}">go {i}</a></li>' for i in range(12))
    return f"<html><body><ul>{links}</ul><p>{f'words of thread {number} ' * 20}</p></body></html>"


@pytest.fixture
def site() -> Iterator[str]:
    with serving_pages(body_of) as (host, _):
        yield f"http://{host}"


def crawl(site: str, pages: int = 20, **settings: Any) -> Run:
    return scrapy_run.crawl(site, START=["/t/0"], CLOSESPIDER_PAGECOUNT=pages, **settings)


def fetches(run: Run) -> int:
    """Return the number of responses."""
    return int(run.stats.get("downloader/response_count", 0))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"LINKSCORE_TARGET": NOBODY, "LINKSCORE_REQUIRED": True}, "LINKSCORE_REQUIRED: the server at "),
        ({"LINKSCORE_RESPECT": ["no-such-use"]}, "LINKSCORE_RESPECT: [0] "),
        ({"LINKSCORE_TLS": True}, "LINKSCORE_TLS: TLS with 127.0.0.1:"),
    ],
)
def test_a_setting_that_cannot_be_is_one_plain_line_and_no_crawl(
    site: str, target: str, settings: dict[str, Any], problem: str
) -> None:
    run = crawl(site, **{"LINKSCORE_TARGET": target, **settings})
    (said,) = run.said
    assert said.startswith(f"ERROR: linkscore: {problem}")
    assert fetches(run) == 0


def test_a_server_that_wants_tls_says_so(site: str, tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    with serving(
        tmp_path / "data", "--tls-cert", f"{made}/server.pem", "--tls-key", f"{made}/server.key"
    ) as s:
        run = crawl(site, LINKSCORE_TARGET=s.target)
    assert run.said == [f"ERROR: linkscore: LINKSCORE_TLS: the server at {s.target} wants TLS"]
    assert fetches(run) == 0


def odd(answer: Any) -> None:
    """Spoil an answer in one of 36 ways, by the page it is about."""
    if not isinstance(answer, scoring_pb2.IngestPagesResponse):
        getattr(answer, "order", answer.links.scores).append(99)
        return
    links = answer.results[0].links
    number = int(links.urls[0].rpartition("/")[2])
    name = ("urls", "scores", "buckets", "tickets", "bucket_names", "bucket_values")[number % 6]
    column = getattr(links, name)
    odd_ones = dict.fromkeys(("urls", "bucket_names"), "http://[bad/")
    odd_ones |= dict.fromkeys(("scores", "bucket_values"), math.nan)
    wrong = odd_ones.get(name, 99)
    ways: list[Callable[[], Any]] = [
        lambda: column.__delitem__(slice(None)),
        lambda: column.append(column[0]),
        lambda: column.__setitem__(0, wrong),
        lambda: answer.results.append(answer.results[0]),
        lambda: answer.results.__delitem__(slice(None)),
        lambda: column.extend([column[0]] * 9),
    ]
    ways[number // 6 % 6]()


def test_odd_answers_leave_a_crawl_in_its_own_order(site: str) -> None:
    fake = FakeLinkscore()
    fake.spoil = odd
    for served in serve(fake):
        run = crawl(site, pages=60, LINKSCORE_TARGET=f"127.0.0.1:{served.port}")
    assert fetches(run) >= 60
    assert not [line for line in run.log.splitlines() if "Traceback" in line]
    said = [line for line in run.said if not line.startswith("INFO")]
    assert said
    assert len(said) == len(set(said))
    assert all("the crawl goes on" in line for line in said)
