from __future__ import annotations

import os

import pytest

# Replays fork; gRPC must not wake its threads in processes that never use it. Read when grpc is imported.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--target", default="", help="host:port of a running server for the contract tests")
