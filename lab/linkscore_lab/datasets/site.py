"""What the lab means by a site: what answers URLs, labels of its pages, and which of them are relevant."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import re2

from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.urls import identity as urls
from linkscore_scoring.urls.identity import UrlResolver


class Reply(NamedTuple):
    """One HTTP answer, before it is put on a wire."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Site(Protocol):
    """A site the lab can serve, survey and crawl."""

    name: str

    @property
    def entry(self) -> str: ...

    def respond(self, url: str) -> Reply:
        """Answer a GET for an absolute URL; an unknown one is a 404, never an exception."""
        ...

    def labels(self) -> Mapping[str, str]:
        """Page type of each labelled page, by `identity` of its URL."""
        ...


@dataclass(frozen=True, slots=True)
class PageFacts:
    """One page, as far as the metrics look at it: its long text blocks, and what names its content.

    A block is a hash and a number of characters; two pages of one content are copies of each other.
    """

    blocks: tuple[tuple[int, int], ...]
    content: str


def facts_of(page: PageFeatures) -> PageFacts:
    """Return the facts of a page: rel=canonical names its content, else its long text, else itself."""
    content = f"url {page.key}"
    if page.canonical_key:
        content = f"canonical {page.canonical_key}"
    elif page.block_hashes:
        content = f"text {sorted(page.block_hashes)}"
    return PageFacts(tuple(zip(page.block_hashes, page.block_chars, strict=True)), content)


@lru_cache(maxsize=1 << 18)
def identity(url: str) -> str:
    """Return what makes two URLs the same page: `urls.identity.identity`, remembered.

    Request the raw URL, compare the identity. Raises ``ValueError`` for a URL that cannot be parsed.
    """
    return urls.identity(url)


def resolve(base: str, href: str) -> str | None:
    """Return `href` of a page at `base` as an absolute http(s) URL; None when it names nothing to crawl."""
    return UrlResolver(base).resolve(href)[0] or None


def identity_or_none(url: str) -> str | None:
    """Return `identity`, or None for a URL that cannot be parsed."""
    try:
        return identity(url)
    except ValueError:
        return None


def read_labels(path: Path) -> dict[str, str]:
    """Return page type by URL identity; raises `InvalidInput` as `read_table`."""
    rows = read_table(path, ("url", "page_type"), field="labels")
    return {identity(row["url"]): row["page_type"] for row in rows}


def read_table(path: Path, columns: Collection[str], *, field: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table: commas in ``.csv``, else tabs; none is empty."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            form: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
            form = {"delimiter": ","} if path.suffix == ".csv" else form
            table = csv.DictReader(file, restval="", **form)
            missing = set(columns) - set(table.fieldnames or ())
            if missing:
                rule = f"{path}: column {', '.join(sorted(missing))} missing, got {table.fieldnames}"
                raise InvalidInput(rule, field=field)
            yield from table
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{path}: must be a UTF-8 table, got {error}", field=field) from error


_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
# The middle of [0, 1].
WANTED_REWARD = 0.5


class ByType:
    """Relevant are the pages whose label is one of `types`.

    `reward` takes the URL of a page as stored and its label, as that of `ByUrl` does.

    Raises InvalidInput of field ``relevant``: no type.
    """

    def __init__(self, types: Iterable[str]) -> None:
        self.types = frozenset(name.strip() for name in types) - {""}
        if not self.types:
            raise InvalidInput("must name at least one type, got none", field="relevant")

    def reward(self, url: str, page_type: str) -> float:
        return float(page_type in self.types)


class ByUrl:
    """Relevant are the pages in whose URL, as stored, `pattern` is found.

    Anywhere in it: begin with ``^`` and end with ``$`` to match the whole URL. The syntax is that of
    RE2, whose time is in proportion to the URL.

    Raises InvalidInput of field ``relevant_url``: no regular expression.
    """

    def __init__(self, pattern: str) -> None:
        if not pattern:
            raise InvalidInput("must be a regular expression, got nothing", field="relevant_url")
        try:
            self.pattern = re2.compile(pattern, _OPTIONS)
        except re2.error as error:
            why = error.args[0].decode("utf-8", "replace")
            rule = f"must be a regular expression (RE2), got {pattern!r}: {why}"
            raise InvalidInput(rule, field="relevant_url") from error

    def reward(self, url: str, page_type: str) -> float:
        return float(self.pattern.search(url) is not None)


Relevance = ByType | ByUrl
"""Tells relevant pages from others."""


def choose_relevance(types: Iterable[str], url: str) -> Relevance | None:
    """Return the relevance that is given, None if none is; InvalidInput if both are, or as it says."""
    if types and url:
        raise InvalidInput("must be given by type or by URL, got both", field="relevant")
    return ByUrl(url) if url else ByType(types) if types else None
