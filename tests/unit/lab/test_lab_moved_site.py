"""A stored site that moved to a loopback address."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from urllib.request import urlopen

import pytest

from linkscore_lab.crawls.servers import MovedSite, SiteServer
from linkscore_lab.datasets.site import Reply


class TinySite:
    """Says what it was asked for, with a link of its own and one out."""

    entry = "http://shop.example/"

    def respond(self, url: str) -> Reply:
        if url.endswith("/old"):
            return Reply(301, {"Location": "http://shop.example/new"}, b"")
        kind = "image/png" if url.endswith(".png") else "text/html; charset=utf-8"
        text = f"{url} http://shop.example/next http://other.example/"
        return Reply(200, {"Content-Type": kind}, text.encode())

    def labels(self) -> dict[str, str]:
        return {}


@pytest.fixture
def server() -> Iterator[SiteServer]:
    with SiteServer(TinySite()) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_a_moved_site_links_to_where_it_is(server: SiteServer) -> None:
    server.site = MovedSite(server.site, server.address)
    with urlopen(f"{server.address}/a") as reply:
        answer = reply.read().decode()
    assert answer == f"{server.address}/a {server.address}/next http://other.example/"
    assert server.site.respond(f"{server.address}/old").headers["Location"] == f"{server.address}/new"
    assert server.site.respond(f"{server.address}/x.png").body.startswith(b"http://shop.example/x.png")
