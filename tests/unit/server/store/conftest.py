from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from linkscore_server.store import Store, open_store
from support.postgres import Postgres

_numbers = itertools.count()


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a store, on both engines."""
    if request.param == "sqlite":
        return str(tmp_path / "data")
    server: Postgres = request.getfixturevalue("database")
    return server.schema(f"store{next(_numbers)}")


@pytest.fixture
def opened(where: str) -> Iterator[Callable[[], Store]]:
    """Opens the store, as one process after the other, or beside another, does."""
    stores: list[Store] = []

    def opened() -> Store:
        stores.append(open_store(where))
        return stores[-1]

    yield opened
    for store in stores:
        store.close()


@pytest.fixture
def store(opened: Callable[[], Store]) -> Store:
    return opened()
