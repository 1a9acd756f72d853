"""What a crawler imports.

`Client` for programs that block, `AsyncClient` for asyncio, `page` and `rows` around the messages of
`linkscore.v1`, and `linkscore.errors`. Scrapy support is in `linkscore.scrapy`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkscore.aio import AsyncClient
    from linkscore.client import Client
    from linkscore.errors import LinkscoreError
    from linkscore.messages import Row, page, policy_spec, rows

__all__ = ["AsyncClient", "Client", "LinkscoreError", "Row", "page", "policy_spec", "rows"]

_HOMES = {
    "AsyncClient": "linkscore.aio",
    "Client": "linkscore.client",
    "LinkscoreError": "linkscore.errors",
    "Row": "linkscore.messages",
    "page": "linkscore.messages",
    "policy_spec": "linkscore.messages",
    "rows": "linkscore.messages",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for: the server takes the stubs from here and must not pay for the client."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
