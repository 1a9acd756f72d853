"""One worker: a process of the server that owns its share of the shards and answers at the common port.

It reads what it is from the first line of its input and ends when the input does: it never outlives whoever
started it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any

from linkscore_server import tasks
from linkscore_server.app import Application, tune_interpreter
from linkscore_server.data_folder import DataFolder
from linkscore_server.observability import logs
from linkscore_server.workers.shares import unpacked
from linkscore_server.workers.supervised import supervised

_log = logging.getLogger(__name__)
LOADED, SERVES, DRAINED = "loaded", "serves", "drained"
"""What a worker says on its output."""


async def run(line: str) -> None:
    """Serve until SIGTERM or the end of the input, then drain; end when all others have drained too."""
    settings, address = unpacked(line)
    os.set_inheritable(address.lock, False)  # processes that read large pages or mine do not hold it
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    stopping, ended = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    watching = tasks.beside(
        _watch_input(stopping, ended), "the input of a worker", failed=lambda _: stopping.set()
    )
    folder = DataFolder(Path(settings.data_dir), lock=address.lock)
    app = Application(settings, folder=folder, directory=partial(supervised(settings), address=address))
    if await _is_done_before(app.start(), stopping):
        tune_interpreter()
        say(SERVES)
        await stopping.wait()
        await app.drain()
        say(DRAINED)
        await ended.wait()
    watching.cancel()
    await app.stop(ends_process=True)
    os._exit(0)  # as `app.run` does


async def _is_done_before(work: Coroutine[Any, Any, None], stopping: asyncio.Event) -> bool:
    """Do some work, unless the worker is stopped first; its peers may be waited for in vain."""
    task, stopped = tasks.awaited(work), tasks.awaited(stopping.wait())
    await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    is_done = task.done()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    return is_done


def say(word: str) -> None:
    """Tell whoever started the worker, if it is still there."""
    try:
        os.write(sys.stdout.fileno(), f"{word}\n".encode())  # unbuffered: nothing is left to write at the end
    except BrokenPipeError:
        _log.info("nobody is there to hear %r: the supervisor has ended", word)


async def _watch_input(stopping: asyncio.Event, ended: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(1):
        pass
    stopping.set()
    ended.set()


def main() -> None:
    """Run the worker that the first line of the input describes."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # is for the supervisor, and may be sent to all processes
    say(LOADED)
    with FileIO(0, closefd=False) as unbuffered:  # what follows the line stays in the pipe
        line = unbuffered.readline().decode()
    if not line:  # whoever started the process does without it
        return
    settings, _ = unpacked(line)
    logs.set_up(settings.log_level)
    try:
        asyncio.run(run(line))
    except Exception as exc:
        logs.log_failed_start(exc)
        sys.exit(1)


if __name__ == "__main__":
    main()
