from typing import Any, TypedDict

__version__: str

Answer = tuple[str, str] | str

class LinkRows(TypedDict):
    columns: dict[str, Any]
    numbers: list[int]
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
    def hrefs(self) -> list[str]: ...
    def links(self, answers: list[Answer]) -> LinkRows: ...
