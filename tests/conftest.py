from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--target", default="", help="host:port of a running server for the contract tests")
