from typing import Any

__version__: str

class Reader:
    def __init__(self, bounds: dict[str, int | str]) -> None: ...
    def read(self, markup: bytes, layout: bool = False) -> dict[str, Any] | str: ...
