"""Work beside the calls: none of it ends without somebody hearing why. Nothing else begins tasks or threads.

Whoever begins one says who hears of its failure: whoever awaits it (`awaited`, `kept`), or the log and those
who wait for what it does (`beside`, `for_ever`, `thread`). Child processes import this and their work alone.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from linkscore_scoring.errors import LinkscoreError


def child_processes(
    processes: int, begin: Callable[..., None] | None = None, *args: Any
) -> ProcessPoolExecutor:
    """Return a pool of processes, none of which is started before it is needed.

    They end when this one ends, however it ends, and leave Ctrl-C to it.
    """
    context = multiprocessing.get_context("spawn")  # gRPC's threads do not survive a fork
    return ProcessPoolExecutor(
        processes, mp_context=context, initializer=_begin_child, initargs=(begin, *args)
    )


def _begin_child(begin: Callable[..., None] | None, *args: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        thread(partial(_exit_after, parent), "linkscore-parent").start()
    if begin is not None:
        begin(*args)


def _exit_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(0)


_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_F = TypeVar("_F", bound="asyncio.Future[Any]")
_AGAIN_S = 1.0
"""Pause before work that must never end is begun again. Chosen, not measured."""


def asked_to_end() -> asyncio.Event:
    """Return what is set when this process gets SIGTERM or SIGINT."""
    asked = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, asked.set)
    return asked


def awaited(work: Coroutine[Any, Any, _T], among: set[asyncio.Task[Any]] | None = None) -> asyncio.Task[_T]:
    """Begin what the caller awaits itself; its failure is nobody's concern once the caller is gone.

    Until it ends it is one of the tasks `among` which its owner has it.
    """
    task = asyncio.create_task(work)
    if among is not None:
        among.add(task)
        task.add_done_callback(among.discard)
    return heard(task)


def heard(future: _F) -> _F:
    """Return a future that its maker awaits, and whose failure is nobody's concern once that one is gone."""
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future


async def kept(work: Awaitable[_T], what: str, among: set[asyncio.Task[Any]]) -> _T:
    """Await what must not stop half-way when the caller gives up; then the log says how it failed, unless it
    was refused."""
    task = asyncio.ensure_future(work)
    among.add(task)
    task.add_done_callback(among.discard)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(lambda done: _log_failure(done, what, but=LinkscoreError))
        raise


async def in_thread(executor: Executor, call: Callable[..., _T], *args: Any) -> _T:
    """Call something in a thread; a caller that gives up ends when the thread has: what it has is its own.

    What no thread has begun is not done any more.
    """
    begun = executor.submit(call, *args)
    work = asyncio.wrap_future(begun)
    gave_up: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as exc:
            gave_up = exc
            begun.cancel()
    if gave_up is not None:
        heard(work)
        raise gave_up
    return work.result()


def beside(
    work: Coroutine[Any, Any, Any],
    what: str,
    among: set[asyncio.Task[Any]] | None = None,
    *,
    failed: Callable[[BaseException], None] = lambda error: None,
) -> asyncio.Task[Any]:
    """Begin what nobody awaits; a failure is logged, and `failed` hears of it, to fail those who wait."""
    task = asyncio.create_task(work)

    def ended(done: asyncio.Task[Any]) -> None:
        if among is not None:
            among.discard(done)
        error = _log_failure(done, what)
        if error is not None:
            failed(error)

    if among is not None:
        among.add(task)
    task.add_done_callback(ended)
    return task


def for_ever(
    make: Callable[[], Coroutine[Any, Any, None]],
    what: str,
    among: set[asyncio.Task[Any]] | None = None,
    *,
    again_s: float = _AGAIN_S,
) -> asyncio.Task[Any]:
    """Begin what must never end: when it fails it is logged and begun again after `again_s`."""

    async def run() -> None:
        while True:
            try:
                await make()
            except Exception:
                _log.exception("%s failed; it is begun again in %g s", what, again_s)
            await asyncio.sleep(again_s)

    return beside(run(), what, among)


def thread(target: Callable[[], Any], name: str) -> threading.Thread:
    """Return a thread, not started, that does not keep the process alive; a failure is logged."""

    def run() -> None:
        try:
            target()
        except Exception:
            _log.exception("thread %s failed", name)

    return threading.Thread(target=run, name=name, daemon=True)


def _log_failure(
    done: asyncio.Future[Any], what: str, *, but: type[LinkscoreError] | tuple[()] = ()
) -> BaseException | None:
    """Log why a task failed, but for errors of a kind; returns that, None if it did not."""
    error = None if done.cancelled() else done.exception()
    if error is not None and not isinstance(error, but):
        _log.error("%s failed", what, exc_info=error)
    return error
