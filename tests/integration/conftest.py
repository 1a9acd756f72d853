"""A server of the default settings for the tests of a file, and its address."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.server_process import ServerProcess, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="module")
def target(server: ServerProcess) -> str:
    return server.target
