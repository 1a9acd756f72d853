"""Pages of sorted names: the token is the last name given out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from linkscore_scoring.errors import InvalidInput

DEFAULT_PAGE_SIZE = 100
MAX_PAGE_SIZE = 1_000


def page_of(names: Sequence[str], page_size: int, page_token: str) -> tuple[Sequence[str], str]:
    """Return one page of sorted names, and the token of the next (empty at the end).

    Raises
    ------
    InvalidInput
        If the page size is over 1,000.
    """
    if page_size > MAX_PAGE_SIZE:
        raise InvalidInput(f"must be at most {MAX_PAGE_SIZE}, got {page_size}", field="page_size")
    start = bisect_right(names, page_token) if page_token else 0
    page = names[start : start + (page_size or DEFAULT_PAGE_SIZE)]
    return page, page[-1] if start + len(page) < len(names) else ""
