"""Embeddings of plug-ins: loaded once, asked in batches, and never the reason that a page is lost."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import pytest

from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.features.types import PageFeatures, PageWords
from linkscore_scoring.wanted import Wanted, WantedQuery
from linkscore_server.crawls.embeddings import Embeddings

BOATS = ("kayak", "canoe", "boat")
WANTED = Wanted((WantedQuery("kayak"), WantedQuery("car", 0.5)), embedding="toy")


class Toy:
    """Texts as (boats, cars) named."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked.append(list(texts))
        return [[float(any(boat in text for boat in BOATS)), float("car" in text)] for text in texts]


@pytest.fixture
def toy() -> Toy:
    return Toy()


@pytest.fixture
def embeddings(toy: Toy) -> Iterator[Embeddings]:
    found = Embeddings({"toy": lambda: toy, "broken": lambda: 1 / 0, "wrong": lambda: lambda texts: [[1.0]]})
    yield found
    found.close()


def pages(*texts: str) -> list[PageFetched]:
    return [
        PageFetched(
            "", "h", url, url, 200, "", b"", 0.0, PageFeatures(url, url, words=PageWords(excerpt=text))
        )
        for url, text in ((f"http://h/{n}", text) for n, text in enumerate(texts))
    ]


def meanings(found: Sequence[PageFetched]) -> list[float | None]:
    words = [page.features.words for page in found if page.features is not None]
    assert all(one is not None and one.excerpt == "" for one in words)
    return [one.meaning for one in words if one is not None]


async def test_pages_are_compared_with_every_query_as_it_weighs(embeddings: Embeddings, toy: Toy) -> None:
    embeddings.load("toy")
    found = pages("a canoe", "a car", "a car on a boat", "a house")
    await embeddings.compare(WANTED, found)
    assert meanings(found) == [1.0, 0.5, pytest.approx(0.7071), 0.0]
    await embeddings.compare(WANTED, pages("a canoe"))
    assert [len(texts) for texts in toy.asked] == [2, 4, 1]  # the queries once


@pytest.mark.parametrize("name", ["broken", "wrong", "gone"])
async def test_a_model_that_fails_costs_no_page(
    embeddings: Embeddings, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        embeddings.load(name)
        found = pages("a canoe", "a car")
        await embeddings.compare(Wanted(WANTED.queries, embedding=name), found)
    assert meanings(found) == [None, None]
    assert name in caplog.text


def test_a_name_that_no_plug_in_brings_is_refused(embeddings: Embeddings) -> None:
    with pytest.raises(InvalidInput) as caught:
        embeddings.check(Wanted(WANTED.queries, embedding="toys"))
    (problem,) = caught.value.problems
    assert problem.field == "wanted.embedding"
    assert "broken, toy, wrong" in str(caught.value)
    embeddings.check(WANTED)
