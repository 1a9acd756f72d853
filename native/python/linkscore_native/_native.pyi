from typing import Any, Protocol, TypedDict

__version__: str

def url_tokens(key: str) -> list[str] | None: ...

class LinkRows(TypedDict):
    columns: dict[str, Any]
    cuts: tuple[bool, bool]

class Reader:
    def __init__(self, bounds: dict[str, int | str]) -> None: ...
    def read(self, markup: bytes) -> Page | str: ...

class Page:
    is_empty: bool
    elements_cut: bool
    base: str
    canonical: str
    nofollow: bool
    text_chars: int
    anchor_chars: int
    block_hashes: list[int]
    block_chars: list[int]
    depth_cut: bool
    paths_cut: bool
    def paths(self) -> tuple[list[int], list[str], list[str], list[int]]: ...
    def links(self, urls: UrlTable, resolver: Resolver) -> LinkRows: ...

class UrlTable:
    def __init__(self, max_urls: int) -> None: ...
    def __len__(self) -> int: ...

class Resolver(Protocol):
    origin: str
    folder: str
    is_even: bool
    charset: str
    max_chars: int
    def resolve(self, href: str) -> tuple[str, str] | str: ...
