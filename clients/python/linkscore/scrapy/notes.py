"""What the server says about a page that was fetched."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any
from weakref import WeakKeyDictionary

from linkscore.scrapy.links import META, Answer

#: The answers to the pages under way, by response.
ANSWERS: WeakKeyDictionary[Any, Awaitable[Answer | None]] = WeakKeyDictionary()


async def page_note(response: Any) -> dict[str, str]:
    """Wait for what the server says about a page: `page_type` and `thread_id`, each only if it is known.

    For callbacks that are coroutines. Waits at most `LINKSCORE_TIMEOUT`; empty if the server does not answer
    or the page was not sent.
    """
    pending = ANSWERS.get(response)
    answer = await asyncio.shield(pending) if pending is not None else None
    return dict(answer.told) if answer is not None else {}


def note_page(request: Any, answer: Answer) -> None:
    """Write into the Request of a page what the answer says about the page."""
    if answer.told:
        request.meta[META] = {**(request.meta.get(META) or {}), **answer.told}
