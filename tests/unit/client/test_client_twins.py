"""`Client` and `AsyncClient` are twins, both have every call of the contract, and their examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from importlib.metadata import version

import pytest

import linkscore
from fake_linkscore import FakeLinkscore
from linkscore import AsyncClient, Client, aio, client, messages
from linkscore.v1 import (
    browse_log_service_pb2,
    crawl_service_pb2,
    inspection_service_pb2,
    link_scoring_service_pb2,
    site_model_service_pb2,
)

SERVICES = (
    browse_log_service_pb2,
    crawl_service_pb2,
    inspection_service_pb2,
    link_scoring_service_pb2,
    site_model_service_pb2,
)


def public(kind: type) -> dict[str, inspect.Signature]:
    """Signatures of the public methods of a class, and of its construction."""
    return {
        name: inspect.signature(method)
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if name == "__init__" or not name.startswith("_")
    }


def blocking(annotation: object) -> str:
    """The annotation as the blocking client has it: iterators block, an iterable need not be asynchronous."""
    return re.sub(r"^(AsyncIterable\[.*?\]) \| ", "", str(annotation)).replace("Async", "")


def test_both_clients_have_the_same_methods_with_the_same_parameters() -> None:
    ours, theirs = public(Client), public(AsyncClient)
    assert list(ours) == list(theirs)
    for name, signature in ours.items():
        other = theirs[name].parameters
        assert list(signature.parameters) == list(other), name
        for key, parameter in signature.parameters.items():
            assert (parameter.kind, parameter.default) == (other[key].kind, other[key].default), (name, key)
            assert str(parameter.annotation) == blocking(other[key].annotation), (name, key)
        assert str(signature.return_annotation) == blocking(theirs[name].return_annotation), name


def test_every_call_of_the_contract_is_a_method() -> None:
    calls = {
        re.sub(r"(?<!^)([A-Z])", r"_\1", method.name).lower()
        for module in SERVICES
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    assert len(calls) == 32
    assert calls - set(public(Client)) == set()


def test_every_public_method_says_what_it_does_to_both_kinds_of_readers_in_the_same_words() -> None:
    for name in public(Client):
        if name != "__init__":
            first = inspect.getdoc(getattr(Client, name)).splitlines()[0]
            assert first == inspect.getdoc(getattr(AsyncClient, name)).splitlines()[0], name


@pytest.mark.parametrize("module", [client, aio, messages], ids=lambda module: module.__name__)
def test_the_examples_in_docstrings_run(module, fake: FakeLinkscore) -> None:
    fake.crawls["crawls/books"] = crawl_service_pb2.Crawl(name="crawls/books")
    runner = doctest.DocTestRunner()
    for found in doctest.DocTestFinder().find(module):
        for example in found.examples:
            example.source = example.source.replace("localhost:7411", f"127.0.0.1:{fake.port}")
        runner.run(found)
    assert runner.summarize(verbose=False).failed == 0
    assert runner.tries


def test_the_package_says_its_version_and_names_what_it_gives() -> None:
    assert linkscore.__version__ == version("linkscore")
    assert set(linkscore.__all__) <= set(dir(linkscore))
    assert all(getattr(linkscore, name) for name in linkscore.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        importlib.import_module("linkscore").nothing  # noqa: B018
