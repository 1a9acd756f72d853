"""One process of a worker, as the supervisor has it in hand: started, told what it is, ended."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from contextlib import suppress

from linkscore_scoring.errors import LinkscoreError
from linkscore_server import tasks

_log = logging.getLogger(__name__)


class WorkerFailed(LinkscoreError):
    """A worker ended, or did not do in time what it was to do."""


class WorkerProcess:
    """A process that becomes a worker when it is told what it is, and ends when its input does.

    Parameters
    ----------
    process
        As started by `WorkerProcess.start`.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.pid = process.pid
        self.began_s = time.monotonic()
        self._name = f"worker, process {process.pid},"
        self._process = process
        self._said: set[str] = set()  # "" once it says no more
        self._hearing = asyncio.Condition()
        self._reading = tasks.beside(self._read(), f"the output of process {process.pid}")

    @classmethod
    async def start(cls, lock: int) -> WorkerProcess:
        """Start a process that inherits the lock of the data folder, a descriptor."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "linkscore_server.workers.worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=[lock],
        )
        return cls(process)

    def tell(self, number: int, line: str) -> None:
        """Tell it which worker it is; it begins then."""
        self.began_s, self._name = time.monotonic(), f"worker {number}"
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())

    async def wait_for(self, word: str, timeout_s: float | None = None) -> None:
        """Wait until the process has said a word.

        Raises
        ------
        WorkerFailed
            If it ends without, or does not say it in time.
        """
        try:
            async with asyncio.timeout(timeout_s), self._hearing:
                await self._hearing.wait_for(lambda: self._said & {word, ""})
        except TimeoutError:
            raise WorkerFailed(f"{self._name}: not {word!r} within {timeout_s:g} s") from None
        if word not in self._said:
            raise WorkerFailed(f"{self._name} ended early; see its log lines")

    @property
    def has_ended(self) -> bool:
        """Whether the process is no more."""
        return self._process.returncode is not None

    @property
    def is_stopped(self) -> bool:
        """Whether a signal stopped the process (SIGSTOP, SIGTSTP), and it was not told to go on.

        One that a debugger holds is not; Python before 3.13 cannot say on macOS, where none is.
        """
        if self.has_ended or not hasattr(os, "waitid"):
            return False
        with suppress(ChildProcessError):  # it ended a moment ago
            return os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
        return False

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
            _log.error("%s does not end, it is killed", self._name)
            self._process.kill()
            await self._process.wait()

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while line := await self._process.stdout.readline():
                await self._hear(line.decode().strip())
        finally:
            await self._hear("")

    async def _hear(self, word: str) -> None:
        async with self._hearing:
            self._said.add(word)
            self._hearing.notify_all()


class Spare:
    """A process that has read the code and does nothing: it becomes whichever worker ends first.

    It takes 41 MB of its own, and saves the second in which shards of the worker are UNAVAILABLE. Measured.

    Parameters
    ----------
    lock
        See `WorkerProcess.start`.
    """

    def __init__(self, lock: int) -> None:
        self._lock = lock
        self._process: WorkerProcess | None = None

    async def prepare(self) -> None:
        """Have one, begun now if there is none."""
        if self._process is None or self._process.has_ended:
            self._process = await WorkerProcess.start(self._lock)

    async def take(self) -> WorkerProcess:
        """Return it, or a process begun now."""
        await self.prepare()
        process, self._process = self._process, None
        assert process is not None
        return process

    async def end(self, timeout_s: float) -> None:
        """Do without."""
        if self._process is not None:
            await (await self.take()).end(timeout_s)
