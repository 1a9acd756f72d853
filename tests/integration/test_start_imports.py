"""A server loads what the first page needs before it says that it serves, and nothing else."""

from __future__ import annotations

import pytest

from linkscore import Client, page, rows
from support.server_process import ServerProcess, serving

# Slow to import, and wanted by few crawls, or by people only: each comes when a crawl or a call needs it.
LATER = {
    "duckdb",
    "google.protobuf.descriptor_pb2",
    "linkscore.client",
    "linkscore_cli.connection",
    "pandas",
    "rich",
    "river",
    "scipy",
    "sklearn",
    "tldextract",
}
# The default policy, the one that stands in where another fails, and what all policies share.
POLICIES = {
    "answers",
    "base",
    "baselines",
    "experience",
    "guard",
    "harvest",
    "registry",
}
LISTS = b"<ul>" + b"".join(b'<li><a href="/p%d">page %d</a></li>' % (n, n) for n in range(20)) + b"</ul>"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> ServerProcess:
    with serving(tmp_path_factory.mktemp("start"), PYTHONPROFILEIMPORTTIME="1") as server:
        yield server


def imported(server: ServerProcess) -> list[str]:
    """All modules that the server has imported so far, as Python reports each on standard error."""
    lines = server.log.read_text(encoding="utf-8").splitlines()
    return [line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")]


def test_what_few_need_is_not_imported_at_the_start(server: ServerProcess) -> None:
    modules = imported(server)
    assert "linkscore_server.app" in modules, "modules are reported"
    early = {late for late in LATER for name in modules if f"{name}.".startswith(f"{late}.")}
    assert early == set()
    policies = {name.split(".")[2] for name in modules if name.startswith("linkscore_scoring.policies.")}
    assert policies <= POLICIES


def test_the_first_calls_import_nothing(server: ServerProcess) -> None:
    before = len(imported(server))
    with Client(server.target) as client:
        client.ensure_crawl(crawl="c")
        pages = [page(url=f"http://h.test/p{n}", body=LISTS) for n in range(3)]
        answer = client.ingest_pages(crawl="c", pages=pages)
        client.score_links(crawl="c", links=["http://h.test/p7"])
        client.rank_buckets(crawl="c", buckets=[row.bucket for row in rows(answer.results[0].links)])
        client.rank_sites(crawl="c", sites=["h.test"])
        client.reward(crawl="c", url="http://h.test/p1", reward=1.0)
    assert imported(server)[before:] == []
