"""Example pages of a crawl: messages to plain values and back."""

from __future__ import annotations

from collections.abc import Iterable

from linkscore.v1 import crawl_service_pb2
from linkscore_scoring.errors import FieldProblem, InvalidInput, InvalidPage
from linkscore_scoring.features.html import extract
from linkscore_scoring.types import ExamplePage
from linkscore_scoring.urls.identity import validate_url

MAX_TYPE_BYTES = 100
_NOWHERE = "http://example.invalid/"


def examples_of(messages: Iterable[crawl_service_pb2.ExamplePage]) -> tuple[ExamplePage, ...]:
    """Return the example pages of a message; cost: a parse for each body.

    Raises
    ------
    InvalidInput
        With the path of every bad field, such as ``crawl.examples[3].url``.
    """
    examples, problems = [], list[FieldProblem]()
    for i, message in enumerate(messages):
        try:
            examples.append(_example(message))
        except InvalidInput as exc:
            problems += exc.under(f"crawl.examples[{i}]").problems
    if problems:
        raise InvalidInput(problems)
    return tuple(examples)


def example_messages(examples: Iterable[ExamplePage]) -> list[crawl_service_pb2.ExamplePage]:
    """Return example pages as messages, without their bodies."""
    return [crawl_service_pb2.ExamplePage(url=page.url, page_type=page.page_type) for page in examples]


def _example(message: crawl_service_pb2.ExamplePage) -> ExamplePage:
    if len(message.page_type.encode()) > MAX_TYPE_BYTES:
        got = len(message.page_type.encode())
        raise InvalidInput(f"must be at most {MAX_TYPE_BYTES} bytes, got {got}", field="page_type")
    if not message.url and not message.body:
        raise InvalidInput("must be given, or else the body", field="url", reason="REQUIRED")
    key = validate_url(message.url, "url", error=InvalidPage) if message.url else ""
    if not message.body:
        return ExamplePage(message.url, key, message.page_type)
    page = extract(message.body, url=message.url or _NOWHERE, content_type=message.content_type)
    if not page.paths.tags:
        raise InvalidPage("must be a page in HTML", field="body")
    return ExamplePage(message.url, key, message.page_type, page.paths)
