"""One process of a worker, as the supervisor has it in hand: started, told what it is, ended."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time

from linkscore_scoring.errors import LinkscoreError
from linkscore_server import tasks

_log = logging.getLogger(__name__)


class WorkerFailed(LinkscoreError):
    """A worker ended, or did not do in time what it was to do."""


class WorkerProcess:
    """A process that becomes a worker when it is told what it is, and ends when its input does.

    Parameters
    ----------
    number
        Of the worker.
    process
        As started by `WorkerProcess.start`.
    """

    def __init__(self, number: int, process: asyncio.subprocess.Process) -> None:
        self.pid = process.pid
        self.began_s = time.monotonic()
        self._number = number
        self._process = process
        self._said: asyncio.Queue[str] = asyncio.Queue()
        self._reading = tasks.beside(
            self._read(), f"the output of worker {number}", failed=lambda _: self._said.put_nowait("")
        )

    @classmethod
    async def start(cls, number: int, lock: int) -> WorkerProcess:
        """Start a process that inherits the lock of the data folder, a descriptor."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "linkscore_server.workers.worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=[lock],
        )
        return cls(number, process)

    def tell(self, line: str) -> None:
        """Tell it what it is; it begins then."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())

    async def wait_for(self, word: str, timeout_s: float) -> None:
        """Wait until the process says a word.

        Raises
        ------
        WorkerFailed
            If it ends without, or does not say it in time.
        """
        try:
            async with asyncio.timeout(timeout_s):
                while (said := await self._said.get()) != word:
                    if not said:
                        self._said.put_nowait("")  # for whoever waits next
                        raise WorkerFailed(f"worker {self._number} ended early; see its log lines")
        except TimeoutError:
            raise WorkerFailed(f"worker {self._number}: not {word!r} within {timeout_s:g} s") from None

    async def ended(self) -> int:
        """Wait for the end of the process; returns its exit code, negative for a signal."""
        return await self._process.wait()

    def drain(self) -> None:
        """Ask it to take in nothing more."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, also when it is stopped."""
        if self._process.returncode is None:
            self._process.kill()

    async def end(self, timeout_s: float) -> None:
        """Let it write its snapshots and end; kill it if it does not."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(timeout_s):
                await self._process.wait()
        except TimeoutError:
            _log.error("worker %d does not end, it is killed", self._number)
            self._process.kill()
            await self._process.wait()

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            self._said.put_nowait(line.decode().strip())
        self._said.put_nowait("")
