"""The stored site answers crawlers that go through a proxy, with a tunnel or without."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from linkscore_lab.crawls.servers import SiteServer
from linkscore_lab.datasets.demo_site import DemoSite


@pytest.fixture(scope="module")
def server() -> Iterator[SiteServer]:
    with SiteServer(DemoSite(seed=1)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("tunnel", [False, True])
def test_the_entry_page_is_served_to_a_crawler_behind_a_proxy(server: SiteServer, tunnel: bool) -> None:
    entry = urlsplit(server.site.entry)
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    if tunnel:
        connection.set_tunnel(entry.netloc, 80)
    connection.request("GET", entry.path if tunnel else server.site.entry, headers={"Host": entry.netloc})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert (answer.status, body) == (200, server.site.respond(server.site.entry).body)


def test_a_crawler_that_hangs_up_is_no_news_and_a_fault_is(
    server: SiteServer, capsys: pytest.CaptureFixture[str]
) -> None:
    for error in (ConnectionResetError("gone"), ValueError("a fault")):
        try:
            raise error
        except (ConnectionResetError, ValueError):
            server.handle_error(None, ("127.0.0.1", 1))
    printed = capsys.readouterr().err
    assert "a fault" in printed
    assert "gone" not in printed
