"""An embedding of a plug-in is never the reason that a page is lost."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.features.types import PageFeatures, PageWords
from linkscore_scoring.wanted import Wanted, WantedQuery
from linkscore_server.crawls.embeddings import Embeddings


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


@pytest.mark.parametrize("name", ["broken", "wrong", "gone"])
async def test_a_model_that_fails_costs_no_page(name: str, caplog: pytest.LogCaptureFixture) -> None:
    embeddings = Embeddings({"broken": lambda: 1 / 0, "wrong": lambda: lambda texts: [[1.0]]})
    with caplog.at_level(logging.ERROR):
        embeddings.load(name)
        found = pages("a canoe", "a car")
        await embeddings.compare(Wanted((WantedQuery("kayak"),), embedding=name), found)
    embeddings.close()
    assert meanings(found) == [None, None]
    assert name in caplog.text
