"""The console in this process, on a real server with crawls to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from starlette.testclient import TestClient

from linkscore import Client, page
from linkscore_console import console_app
from support.console.crawls import BOOKS, HARM_HOST, HARMED, YOUNG, harm_body, harm_url
from support.server_process import serving
from support.small_site import HOST, body_of, url_of


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with three crawls."""
    with serving(tmp_path_factory.mktemp("console")) as server, Client(server.target, timeout_s=60) as client:
        client.create_crawl(crawl=BOOKS)
        client.create_crawl(crawl=YOUNG)
        client.create_crawl(crawl=HARMED)
        client.ingest_pages(crawl=BOOKS, pages=[page(url=url_of(n), body=body_of(n)) for n in range(60)])
        client.learn_site(crawl=BOOKS, site=HOST, timeout_s=60)
        client.ingest_pages(crawl=YOUNG, pages=[page(url=url_of(n), body=body_of(n)) for n in range(10)])
        client.ingest_pages(crawl=HARMED, pages=[page(url=harm_url(n), body=harm_body(n)) for n in range(30)])
        client.learn_site(crawl=HARMED, site=HARM_HOST, timeout_s=60)
        yield server.target


@pytest.fixture
def connected(target: str) -> Iterator[Callable[..., TestClient]]:
    """Gives a browser-like client of a console with the settings given."""
    open_: list[TestClient] = []

    def connect(**settings: object) -> TestClient:
        app = console_app(**{"target": target} | settings)
        client = TestClient(app, base_url="http://127.0.0.1:7480", follow_redirects=False)
        open_.append(client.__enter__())
        return client

    yield connect
    for client in open_:
        client.__exit__(None, None, None)


@pytest.fixture
def console(connected: Callable[..., TestClient]) -> TestClient:
    """A console that only reads."""
    return connected()


@pytest.fixture
def writing(connected: Callable[..., TestClient]) -> TestClient:
    """A console that may write."""
    return connected(writable=True)
