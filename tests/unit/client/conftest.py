from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.fake_linkscore import FakeLinkscore, serve


@pytest.fixture
def fake() -> Iterator[FakeLinkscore]:
    yield from serve(FakeLinkscore({"thread": 0.9, "tag": 0.1}))
