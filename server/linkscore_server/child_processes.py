"""Pools of processes beside the server. A child imports what its work imports and no more than this file."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing.process import BaseProcess
from typing import Any

from linkscore_server import tasks


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
        tasks.thread(partial(_exit_after, parent), "linkscore-parent").start()
    if begin is not None:
        begin(*args)


def _exit_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(0)
