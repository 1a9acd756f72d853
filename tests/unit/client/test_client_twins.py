"""`Client` and `AsyncClient` are twins, both have every call of the contract, and their examples run."""

from __future__ import annotations

import ast
import asyncio
import doctest
import importlib
import inspect
import re
import types
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pytest

import linkscore
from linkscore import AsyncClient, Client, aio, client, messages
from linkscore.v1 import (
    browse_log_service_pb2,
    crawl_service_pb2,
    inspection_service_pb2,
    link_scoring_service_pb2,
    site_model_service_pb2,
)
from support.fake_linkscore import FakeLinkscore

ROOT = Path(__file__).parents[3]
SERVICES = (
    browse_log_service_pb2,
    crawl_service_pb2,
    inspection_service_pb2,
    link_scoring_service_pb2,
    site_model_service_pb2,
)


def public(kind: type) -> list[str]:
    """Names of the public methods of a class."""
    return [name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")]


def test_every_call_of_the_contract_is_a_method() -> None:
    calls = {
        re.sub(r"(?<!^)([A-Z])", r"_\1", method.name).lower()
        for module in SERVICES
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    assert len(calls) == 26
    assert calls - set(public(Client)) == set()
    assert public(Client) == public(AsyncClient)


@pytest.mark.parametrize("module", [client, aio, messages], ids=lambda module: module.__name__)
def test_the_examples_in_docstrings_run(
    module: types.ModuleType, fake: FakeLinkscore, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.crawls["crawls/books"] = crawl_service_pb2.Crawl(name="crawls/books")
    runner = doctest.DocTestRunner()
    with asyncio.Runner() as loop:
        monkeypatch.setattr(doctest, "exec", partial(run_awaiting, loop), raising=False)
        for found in doctest.DocTestFinder().find(module):
            for example in found.examples:
                example.source = example.source.replace("localhost:7411", f"127.0.0.1:{fake.port}")
            runner.run(found, compileflags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert runner.summarize(verbose=False).failed == 0
    assert runner.tries


def run_awaiting(loop: asyncio.Runner, code: types.CodeType, names: dict[str, object]) -> None:
    """Run a line of an example as the prompt of ``python -m asyncio`` does: in the loop, and awaited."""

    async def run() -> None:
        waiting = types.FunctionType(code, names)()
        if inspect.iscoroutine(waiting):
            await waiting

    loop.run(run())


def test_the_package_says_its_version_and_names_what_it_gives() -> None:
    assert linkscore.__version__ == version("linkscore")
    assert all(getattr(linkscore, name) for name in linkscore.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        importlib.import_module("linkscore").nothing  # noqa: B018
