"""Starts the workers of a server, starts those again that end, and ends all in two steps.

Each worker owns the shards that its number says (`routing.owners.place_of`) and listens at the common port
(SO_REUSEPORT: the kernel gives a connection to one of them). What a call needs of other workers is asked over
sockets in a private folder. While a worker is away its shards are UNAVAILABLE and the others go on.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector

from linkscore_scoring.errors import LinkscoreError
from linkscore_server.observability.http import MetricsServer
from linkscore_server.routing.peers import Peer
from linkscore_server.routing.place import Place
from linkscore_server.settings import Settings
from linkscore_server.storage.files import FileStore
from linkscore_server.workers.metrics import WorkersCollector
from linkscore_server.workers.shares import packed, share_of
from linkscore_server.workers.worker import DRAINED, SERVES

_log = logging.getLogger(__name__)
_START_S = 600.0
"""Longest start of a worker: a bound, so that a damaged disk is not waited for for ever."""
_AGAIN_S = 1.0
"""Seconds between two starts of a worker that ends at once. Chosen, not measured."""
_END_S = 30.0
"""Seconds for a worker to write its snapshots and end after the drain, before it is killed. A bound."""
_METRICS_S = 2.0
"""Longest wait for the metrics of a worker. A bound: Prometheus waits 10 s by default."""


class WorkerFailed(LinkscoreError):
    """A worker ended before it served."""


class Worker:
    """One worker process at a time.

    Parameters
    ----------
    settings
        Of the worker.
    place
        What it is told.
    """

    def __init__(self, settings: Settings, place: Place) -> None:
        self.number = place.number
        self.peer = Peer(place.sockets[place.number], settings.max_message_bytes)
        self.began_s = 0.0
        self._line = packed(settings, place) + "\n"
        self._lock = place.lock
        self._socket = Path(place.sockets[place.number].removeprefix("unix:"))
        self._process: asyncio.subprocess.Process | None = None
        self._said: asyncio.Queue[str] = asyncio.Queue()
        self._reading: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid if self._process is not None else 0

    async def start(self) -> None:
        """Start the process; `wait_for` says when it serves."""
        self._socket.unlink(missing_ok=True)
        self.began_s = time.monotonic()
        self._said = asyncio.Queue()
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "linkscore_server.workers.worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=[self._lock],
        )
        assert self._process.stdin is not None
        self._process.stdin.write(self._line.encode())
        self._reading = asyncio.create_task(self._read(self._process, self._said))

    async def wait_for(self, word: str, timeout_s: float) -> None:
        """Wait until the worker says a word.

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
                        raise WorkerFailed(f"worker {self.number} ended early; see its log lines")
        except TimeoutError:
            raise WorkerFailed(f"worker {self.number}: not {word!r} within {timeout_s:g} s") from None

    async def ended(self) -> int:
        """Wait for the end of the process; returns its exit code, negative for a signal."""
        assert self._process is not None
        return await self._process.wait()

    def drain(self) -> None:
        """Ask it to take in nothing more."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)

    async def end(self, timeout_s: float) -> None:
        """Let it write its snapshots and end; kill it if it does not."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(timeout_s):
                await self._process.wait()
        except TimeoutError:
            _log.error("worker %d does not end, it is killed", self.number)
            self._process.kill()
            await self._process.wait()

    async def _read(self, process: asyncio.subprocess.Process, said: asyncio.Queue[str]) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            said.put_nowait(line.decode().strip())
        said.put_nowait("")


class Supervisor:
    """All workers of a server.

    Parameters
    ----------
    settings
        Of the server.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._registry = CollectorRegistry()
        self._up = Gauge(
            "linkscore_worker_up", "Whether a worker serves", ["worker"], registry=self._registry
        )
        self._restarts = Counter(
            "linkscore_worker_restarts", "Starts after an end", ["worker"], registry=self._registry
        )
        self._workers: list[Worker] = []
        self._tending: list[asyncio.Task[None]] = []
        self._metrics: MetricsServer | None = None

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT."""
        stopping = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
        with ExitStack() as held:
            store = held.enter_context(closing(FileStore(Path(self._settings.data_dir))))
            store.ticket_key()  # made once, before workers read it
            address, holder = _reserved(self._settings.listen)
            held.enter_context(closing(holder))
            folder = held.enter_context(tempfile.TemporaryDirectory(prefix="linkscore-"))
            self._make(address, store, Path(folder))
            try:
                await self._start()
                self._serve_metrics()
                print(f"linkscore serving on {address}", flush=True)  # the line scripts wait for
                await stopping.wait()
            finally:
                await self._stop()

    def _make(self, listen: str, store: FileStore, folder: Path) -> None:
        numbers = range(self._settings.workers)
        sockets = tuple(f"unix:{folder / str(number)}" for number in numbers)
        own = share_of(self._settings, listen)
        self._workers = [Worker(own, Place(number, sockets, store.lock)) for number in numbers]

    async def _start(self) -> None:
        for worker in self._workers:
            await worker.start()
        for worker in self._workers:
            await worker.wait_for(SERVES, _START_S)
            self._up.labels(str(worker.number)).set(1)
            _log.info("worker %d serves, process %d", worker.number, worker.pid)
        self._tending = [asyncio.create_task(self._tend(worker)) for worker in self._workers]

    async def _tend(self, worker: Worker) -> None:
        """Start a worker again whenever it ends; its shards are read from their logs by then."""
        while True:
            code = await worker.ended()
            self._up.labels(str(worker.number)).set(0)
            _log.error("worker %d ended with %d, it is started again", worker.number, code)
            await asyncio.sleep(max(0.0, _AGAIN_S - (time.monotonic() - worker.began_s)))
            self._restarts.labels(str(worker.number)).inc()
            await worker.start()
            try:
                await worker.wait_for(SERVES, _START_S)
            except WorkerFailed as exc:
                _log.error("%s", exc)
                continue
            self._up.labels(str(worker.number)).set(1)
            _log.info("worker %d serves again, process %d", worker.number, worker.pid)

    async def _stop(self) -> None:
        """Drain all workers, then let them end: until the last call is answered each may need the others."""
        for task in self._tending:
            task.cancel()
        await asyncio.gather(*self._tending, return_exceptions=True)
        if self._metrics is not None:
            await asyncio.to_thread(self._metrics.close)
        for worker in self._workers:
            worker.drain()
        drained = [worker.wait_for(DRAINED, self._settings.drain_s + _END_S) for worker in self._workers]
        for error in await asyncio.gather(*drained, return_exceptions=True):
            if error is not None:
                _log.warning("%s", error)
        await asyncio.gather(*(worker.end(_END_S) for worker in self._workers))
        await asyncio.gather(*(worker.peer.close() for worker in self._workers))

    def _serve_metrics(self) -> None:
        if not self._settings.metrics_listen:
            return
        loop = asyncio.get_running_loop()

        def texts() -> dict[int, str]:
            return asyncio.run_coroutine_threadsafe(self._texts(), loop).result()

        self._registry.register(WorkersCollector(texts))
        ProcessCollector(namespace="linkscore_supervisor", registry=self._registry)
        host, _, port = self._settings.metrics_listen.rpartition(":")
        self._metrics = MetricsServer(host.strip("[]"), int(port), self._registry)
        _log.info("metrics on %s:%d", host, self._metrics.port)

    async def _texts(self) -> dict[int, str]:
        """Return what each worker says, without those that do not answer."""
        asked = [asyncio.wait_for(worker.peer.ask("metrics"), _METRICS_S) for worker in self._workers]
        found = await asyncio.gather(*asked, return_exceptions=True)
        return {number: got["text"] for number, got in enumerate(found) if isinstance(got, dict)}


def _reserved(listen: str) -> tuple[str, socket.socket]:
    """Return the address with its port, and what holds the port while no worker listens.

    Raises
    ------
    OSError
        If the address is taken or none of this machine.
    """
    host, _, port = listen.rpartition(":")
    family, kind, proto, _, address = socket.getaddrinfo(
        host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    holder = socket.socket(family, kind, proto)
    try:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind(address)
    except OSError as exc:
        holder.close()
        raise OSError(exc.errno, f"{listen}: {os.strerror(exc.errno or 0)}") from exc
    return f"{host}:{holder.getsockname()[1]}", holder
