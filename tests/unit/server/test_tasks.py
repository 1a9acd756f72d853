"""What is done in threads for callers that give up."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from linkscore_server import tasks


async def test_what_no_thread_has_begun_is_not_done_for_who_gives_up() -> None:
    has_begun, may_end, late = threading.Event(), threading.Event(), list[int]()

    def work() -> None:
        has_begun.set()
        may_end.wait(5.0)

    with ThreadPoolExecutor(1) as executor:
        first = asyncio.create_task(tasks.in_thread(executor, work))
        await asyncio.to_thread(has_begun.wait)
        second = asyncio.create_task(tasks.in_thread(executor, late.append, 1))
        await asyncio.sleep(0)
        first.cancel()
        second.cancel()
        await asyncio.wait([second])
        assert (second.cancelled(), first.done()) == (True, False)
        may_end.set()
        await asyncio.wait([first])
    assert (first.cancelled(), late) == (True, [])
