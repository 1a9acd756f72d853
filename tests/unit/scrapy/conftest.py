from __future__ import annotations

import pytest

from linkscore.scrapy import BucketQueue
from support.crawlers.stand_ins import FakeCrawler, queue_of


@pytest.fixture
def make_crawler():
    return FakeCrawler


@pytest.fixture
def crawler() -> FakeCrawler:
    return FakeCrawler()


@pytest.fixture(params=["memory", "disk"])
def queue(request, crawler: FakeCrawler, tmp_path) -> BucketQueue:
    made = queue_of(crawler, tmp_path / "q" if request.param == "disk" else "")
    yield made
    made.close()
