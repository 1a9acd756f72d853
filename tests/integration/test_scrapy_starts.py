"""A real Scrapy crawl says in plain lines what its settings ask for, whom it reached and what came of it."""

from __future__ import annotations

import hashlib
import math
import threading
import time
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
def asked() -> list[str]:
    """Paths that the site was asked for."""
    return []


@pytest.fixture
def site(asked: list[str]) -> Iterator[str]:
    def noted(path: str) -> str:
        asked.append(path)
        return body_of(path)

    with serving_pages(noted) as (host, _):
        yield f"http://{host}"


def crawl(site: str, pages: int = 20, **settings: Any) -> Run:
    return scrapy_run.crawl(site, START=["/t/0"], CLOSESPIDER_PAGECOUNT=pages, **settings)


def fetches(run: Run) -> int:
    """Return the number of responses."""
    return int(run.stats.get("downloader/response_count", 0))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"LINKSCORE_TARGET": "http://localhost:7411"}, "LINKSCORE_TARGET: "),
        ({"LINKSCORE_TARGET": NOBODY, "LINKSCORE_REQUIRED": True}, "LINKSCORE_REQUIRED: the server at "),
        ({"LINKSCORE_TARGET": NOBODY, "LINKSCORE_TLS": "/none.pem"}, "LINKSCORE_TLS: cannot read "),
    ],
)
def test_a_setting_that_cannot_be_is_one_plain_line_and_no_crawl(
    site: str, settings: dict[str, Any], problem: str
) -> None:
    run = crawl(site, **settings)
    (said,) = run.said
    assert said.startswith(f"ERROR: linkscore: {problem}")
    assert fetches(run) == 0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("data")) as process:
        yield process.target


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"LINKSCORE_RESPECT": ["no-such-use"]}, "LINKSCORE_RESPECT: [0] "),
        ({"LINKSCORE_POLICY": "no_such_policy"}, "LINKSCORE_POLICY: "),
        ({"LINKSCORE_CRAWL": "No Such Name"}, "LINKSCORE_CRAWL: "),
        ({"LINKSCORE_WANTED": {"languages": ["no such language"]}}, "LINKSCORE_WANTED: "),
        (
            {"LINKSCORE_EXAMPLES": ["none.html"]},
            "LINKSCORE_EXAMPLES: must be URL, URL=FILE or FILE, got 'none.h",
        ),
        ({"LINKSCORE_EXAMPLES": ["http://"]}, "LINKSCORE_EXAMPLES: [0]"),
        ({"LINKSCORE_BUDGET": {"max_fetches": 0}}, "LINKSCORE_BUDGET: max_fetches "),
        ({"LINKSCORE_TLS": True}, "LINKSCORE_TLS: TLS with 127.0.0.1:"),
    ],
)
def test_a_setting_that_the_server_refuses_is_one_plain_line_and_no_crawl(
    site: str, server: str, settings: dict[str, Any], problem: str
) -> None:
    run = crawl(site, LINKSCORE_TARGET=server, **settings)
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
    name = ("urls", "scores", "buckets", "tickets", "bucket_names", "encoded_priorities")[number % 6]
    column = getattr(links, name)
    wrong = "http://[bad/" if name in ("urls", "bucket_names") else math.nan if name[0] in "se" else 99
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


@pytest.mark.slow
def test_tls_with_an_own_authority_and_a_token_that_is_renewed_while_it_crawls(
    site: str, asked: list[str], tmp_path: Path
) -> None:
    made = make_certificates(tmp_path)
    known, mine = tmp_path / "known", tmp_path / "mine"

    def knows(*tokens: str) -> None:
        digests = {token: hashlib.sha256(token.encode()).hexdigest() for token in tokens}
        lines = [f"{token} write * sha256:{digest}\n" for token, digest in digests.items()]
        known.write_text("".join(lines))

    first, second = "first-token-of-team", "second-token-of-team"
    mine.write_text(first)
    knows(first)
    flags = ["--tls-cert", f"{made}/server.pem", "--tls-key", f"{made}/server.key"]
    with serving(tmp_path / "data", *flags, "--token-file", f"{known}") as process:
        settings = {
            "LINKSCORE_TARGET": process.target,
            "LINKSCORE_TLS": f"{made}/ca.pem",
            "LINKSCORE_TOKEN_FILE": f"{mine}",
            "LINKSCORE_REQUIRED": True,
        }
        runs = list[Run]()

        def wait_for(pages: int) -> None:
            while len(asked) < pages and crawling.is_alive():
                time.sleep(0.05)

        crawling = threading.Thread(
            target=lambda: runs.append(crawl(site, pages=60, DOWNLOAD_DELAY=0.1, **settings))
        )
        crawling.start()
        wait_for(20)
        knows(first, second)
        mine.write_text(second)
        wait_for(40)
        knows(second)
        crawling.join()
    (run,) = runs
    began, *_, ended = run.said
    assert began.endswith(f"at {process.target}: crawl site-spider, policy harvest")
    scored, _, of = ended.removeprefix("INFO: linkscore: ").partition(" of ")
    assert of == f"{scored} requests scored"
    assert int(scored) > 400
    assert fetches(run) >= 60
