from __future__ import annotations

import pytest
from stand_ins import FakeCrawler


@pytest.fixture
def make_crawler():
    return FakeCrawler


@pytest.fixture
def crawler() -> FakeCrawler:
    return FakeCrawler()
