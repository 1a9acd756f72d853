"""Work beside the calls: a failure is heard of."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from linkscore_server import tasks


async def failing() -> None:
    await asyncio.sleep(0)
    raise ZeroDivisionError("in the middle")


async def test_what_nobody_awaits_is_logged_and_its_waiters_hear(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[BaseException] = []
    among: set[asyncio.Task[Any]] = set()
    task = tasks.beside(failing(), "the work", among, failed=heard.append)
    assert among == {task}
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert (among, [type(error) for error in heard]) == (set(), [ZeroDivisionError])
    assert "the work failed" in caplog.text
    assert "in the middle" in caplog.text


async def test_what_must_not_end_is_begun_again(caplog: pytest.LogCaptureFixture) -> None:
    begun, twice = 0, asyncio.Event()

    async def work() -> None:
        nonlocal begun
        begun += 1
        if begun == 3:
            twice.set()
            await asyncio.sleep(3_600)
        await failing()

    task = tasks.for_ever(work, "the work", again_s=0.0)
    await asyncio.wait_for(twice.wait(), 30)
    task.cancel()
    await asyncio.wait([task])
    assert caplog.text.count("the work failed") == 2


async def test_what_is_kept_goes_on_when_its_caller_gives_up_and_is_logged_then(
    caplog: pytest.LogCaptureFixture,
) -> None:
    go_on, among = asyncio.Event(), set[asyncio.Task[Any]]()

    async def work() -> None:
        await go_on.wait()
        await failing()

    caller = asyncio.ensure_future(tasks.kept(work(), "the change", among))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.wait([caller])
    (inner,) = among
    go_on.set()
    await asyncio.wait([inner])
    await asyncio.sleep(0)
    assert "the change failed" in caplog.text


def test_a_thread_that_fails_is_logged_and_its_waiters_hear(caplog: pytest.LogCaptureFixture) -> None:
    heard = threading.Event()

    def work() -> None:
        raise ZeroDivisionError("in a thread")

    with caplog.at_level(logging.ERROR):
        thread = tasks.thread(work, "the-thread", failed=lambda _: heard.set())
        thread.start()
        thread.join(30)
    assert heard.is_set()
    assert thread.daemon
    assert "thread the-thread failed" in caplog.text
    assert "in a thread" in caplog.text
