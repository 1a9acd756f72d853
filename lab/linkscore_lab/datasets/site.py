"""What the lab means by a site: something that answers URLs, with a label for each page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

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
