"""An embedding from a package outside: pages are judged by it, and the log is read again without it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from linkscore import Client, errors, page
from linkscore.v1 import link_scoring_service_pb2 as pb
from support.server_process import serving

PACKAGE = '''
"""A toy model: texts as what they say of boats and of cars."""

BOATS, CARS = ("kayak", "canoe", "boat"), ("car", "wheel")


def load():
    def embed(texts):
        lowered = [text.lower() for text in texts]
        return [[sum(text.count(word) for word in words) for words in (BOATS, CARS)] for text in lowered]

    return embed
'''
WANTED = {"query": "kayak", "embedding": "toy", "embedding_weight": 0.5}
PAGES = (
    "<title>Canoes</title><p>How a canoe is mended at home.</p>",
    "<title>Cars</title><p>New wheels for your car.</p>",
)


@pytest.fixture
def package(tmp_path: Path) -> dict[str, str]:
    """Install a toy plug-in; the environment of a server that finds it."""
    site = tmp_path / "site"
    info = site / "toy_embedding-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "toy_embedding.py").write_text(PACKAGE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-embedding\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[linkscore.embeddings]\ntoy = toy_embedding:load\n")
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths)}


def ingest(client: Client, bodies: Sequence[str], *, place: str = "a") -> list[pb.PageResult]:
    links = "<a href='/next'>next</a>"
    pages = [
        page(url=f"http://h.test/{place}/{n}", body=f"{body}{links}".encode(), content_type="text/html")
        for n, body in enumerate(bodies)
    ]
    return list(client.ingest_pages(crawl="c", pages=pages).results)


def ranks(client: Client, buckets: Sequence[str]) -> list[float]:
    return list(client.rank_buckets(crawl="c", buckets=buckets).values)


@pytest.mark.long
def test_pages_are_judged_by_the_model_and_read_again_without_it(
    tmp_path: Path, package: dict[str, str]
) -> None:
    folder = tmp_path / "run"
    with serving(folder, **package) as server, Client(server.target) as client:
        client.create_crawl(crawl="c", wanted=WANTED)
        canoe, car = ingest(client, PAGES)
        assert canoe.relevance == 0.5
        assert car.relevance == 0.0
        buckets = [name for result in (canoe, car) for name in result.links.bucket_names]
        before = ranks(client, buckets)
        server.kill()
    with serving(folder) as server, Client(server.target) as client:
        assert ranks(client, buckets) == before
        (later,) = ingest(client, ["<title>Canoe II</title><p>Another canoe that was mended.</p>"], place="b")
        assert later.relevance == 0.0
        assert "embedding 'toy' cannot be loaded" in server.log.read_text()


def test_an_embedding_that_is_not_installed_is_refused_by_field(
    tmp_path: Path, package: dict[str, str]
) -> None:
    with serving(tmp_path / "run", **package) as server, Client(server.target) as client:
        with pytest.raises(errors.InvalidArgument) as caught:
            client.create_crawl(crawl="c", wanted={"query": "kayak", "embedding": "toys"})
        assert [violation.field for violation in caught.value.field_violations] == ["crawl.wanted.embedding"]
        assert "installed: toy" in str(caught.value)
