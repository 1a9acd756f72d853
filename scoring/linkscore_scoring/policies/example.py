"""A page of the wanted type as a parameter: `example_url` or `example_html`."""

from __future__ import annotations

from collections.abc import Iterator

from linkscore_scoring.errors import FieldProblem, InvalidInput
from linkscore_scoring.features.html import extract
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.hashing import hash64
from linkscore_scoring.urls.identity import identity, validate_url


def example_problems(url: str, html: str) -> Iterator[FieldProblem]:
    """Yield a problem if not exactly one of both is given, or the URL is none."""
    if bool(url) == bool(html):
        rule = "exactly one of example_url and example_html must be set"
        yield FieldProblem("example_url", rule, "REQUIRED")
    if url:
        try:
            validate_url(url, "example_url")
        except InvalidInput as exc:
            yield from exc.problems


def example_key(url: str) -> int:
    """Return the identity hash of the example's URL."""
    return hash64(identity(url))


def example_page(html: str) -> PageFeatures:
    """Return the features of the example's HTML."""
    return extract(html.encode(), url="http://example.invalid/", content_type="text/html; charset=utf-8")
