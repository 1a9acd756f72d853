"""One of several processes of a server on one machine, which `workers` starts and tells what it is.

It reads that from the first line of its input and ends when the input does: it never outlives who started it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import resource
import signal
import sys
from dataclasses import asdict
from io import FileIO
from pathlib import Path

from linkscore_server import app, tasks
from linkscore_server.data_folder import DataFolder
from linkscore_server.front.front import Share
from linkscore_server.observability import logs
from linkscore_server.settings import Settings

_log = logging.getLogger(__name__)
SERVES, DRAINED = "serves", "drained"
"""What a worker says on its output."""


def packed(settings: Settings, share: Share, lock: int) -> str:
    """Return what a worker is told, one line."""
    return json.dumps({"settings": asdict(settings), "share": [share.number, share.sockets], "lock": lock})


def _unpacked(line: str) -> tuple[Settings, Share, int]:
    said = json.loads(line)
    number, sockets = said["share"]
    return Settings(**said["settings"]), Share(number, tuple(sockets)), said["lock"]


async def _run(line: str) -> None:
    """Serve until SIGTERM or the end of the input, then drain; end when all others have drained too."""
    settings, share, lock = _unpacked(line)
    os.set_inheritable(lock, False)  # processes that read large pages or mine do not hold it
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    stopping, ended = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)

    async def watch_input() -> None:
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        await reader.read()
        stopping.set()
        ended.set()

    watching = tasks.beside(watch_input(), "the input of a worker", failed=lambda _: stopping.set())
    folder = DataFolder(Path(settings.data_dir), lock=lock)
    server = app.Application(settings, share=share, folder=folder)
    starting = tasks.awaited(server.start())
    waiting = tasks.awaited(stopping.wait())
    await asyncio.wait({starting, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if starting.done():
        starting.result()
        app.tune_interpreter()
        _say(SERVES)
        await waiting
        await server.drain()
        _say(DRAINED)
        await ended.wait()
    starting.cancel()
    waiting.cancel()
    await asyncio.gather(starting, waiting, return_exceptions=True)
    watching.cancel()
    await server.stop(ends_process=True)
    os._exit(0)  # as `app.run` does


def _say(word: str) -> None:
    try:
        os.write(sys.stdout.fileno(), f"{word}\n".encode())
    except BrokenPipeError:
        _log.info("nobody is there to hear %r: the supervisor has ended", word)


def main() -> None:
    """Run the worker that the first line of the input describes."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # is for the supervisor, and may be sent to all processes
    with FileIO(0, closefd=False) as unbuffered:  # what follows the line stays in the pipe
        line = unbuffered.readline().decode()
    if not line:
        return
    logs.set_up(_unpacked(line)[0].log_level)
    try:
        asyncio.run(_run(line))
    except Exception as exc:
        logs.log_failed_start(exc)
        sys.exit(1)


if __name__ == "__main__":
    main()
