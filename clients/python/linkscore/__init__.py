"""What a crawler imports.

`Client` for programs that block, `AsyncClient` for asyncio, `page`, `failed_page`, `feedback`, `rows` and
`ticket_text` around the messages of `linkscore.v1`, and `linkscore.errors`. Scrapy support is in
`linkscore.scrapy`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkscore.aio import AsyncClient
    from linkscore.client import Client
    from linkscore.errors import LinkscoreError
    from linkscore.messages import (
        Row,
        failed_page,
        feedback,
        page,
        policy_spec,
        rows,
        ticket_bytes,
        ticket_text,
        wanted_spec,
    )

    __version__: str

__all__ = [
    "AsyncClient",
    "Client",
    "LinkscoreError",
    "Row",
    "__version__",
    "failed_page",
    "feedback",
    "page",
    "policy_spec",
    "rows",
    "ticket_bytes",
    "ticket_text",
    "wanted_spec",
]

_HOMES = {"AsyncClient": "aio", "Client": "client", "LinkscoreError": "errors"}
"""Where names are, if not in `messages`."""


def __getattr__(name: str) -> Any:
    """Load what is asked for: the server takes the stubs from here and must not pay for the client."""
    if name == "__version__":
        from importlib.metadata import version

        return version("linkscore")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"linkscore.{_HOMES.get(name, 'messages')}"), name)
