"""Starts the workers of a server, starts those again that end, replaces them, and ends all in two steps.

Each worker listens at the common port (SO_REUSEPORT: the kernel gives a connection to one of them), and is
asked over a socket in a private folder. What it has of the crawls its directory says (`supervised`).
"""

from __future__ import annotations

import asyncio
import logging
import signal
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from wsgiref.simple_server import WSGIServer

from prometheus_client import ProcessCollector

from linkscore_scoring.errors import LinkscoreError
from linkscore_server import tasks
from linkscore_server.addresses import bound, check_free
from linkscore_server.observability.metrics import serve_metrics
from linkscore_server.routing.peers import Peer
from linkscore_server.settings import Settings
from linkscore_server.workers.address import WorkerAddress
from linkscore_server.workers.metrics import SupervisorMetrics, WorkersCollector
from linkscore_server.workers.process import Spare, WorkerFailed, WorkerProcess
from linkscore_server.workers.shares import packed, share_of
from linkscore_server.workers.supervised import Supervised
from linkscore_server.workers.worker import DRAINED, LOADED, SERVES

_log = logging.getLogger(__name__)
_START_S = 600.0
"""Longest start of a worker: a bound, so that a damaged disk is not waited for for ever."""
_AGAIN_S = 1.0
"""Seconds between two starts of a worker that ends at once. Chosen, not measured."""
_END_S = 30.0
"""Seconds for a worker to write its snapshots and end after the drain, before it is killed. A bound."""
_TELL_S = 10.0
"""Longest wait for a worker to hear that another one leaves or is back. A bound."""
_PROBE_S = 2.0
"""Seconds between two questions whether a worker answers. Chosen, not measured."""
_ANSWER_S = 10.0
"""Longest wait for that answer, which takes milliseconds: pages and learnings are in between. A bound."""
_MISSED = 3
"""Answers that a worker may leave out in a row before it is killed. A judgement: one may be bad luck."""
_STOPPED_S = 0.5
"""Seconds between two looks whether a worker is stopped; at the second in a row it is killed. Chosen: a
terminal's Ctrl-Z stops the supervisor too, and both go on within moments."""
_METRICS_S = 2.0
"""Longest wait for the metrics of a worker. A bound: Prometheus waits 10 s by default."""


class Worker:
    """A worker, which is one process at a time.

    Parameters
    ----------
    settings
        Of the worker.
    address
        Where it is among its like.
    """

    def __init__(self, settings: Settings, address: WorkerAddress) -> None:
        self.number = address.number
        self.peer = Peer(address.sockets[address.number], settings.max_message_bytes)
        self._process: WorkerProcess | None = None
        self._line = packed(settings, address)
        self._lock = address.lock
        self._socket = Path(address.sockets[address.number].removeprefix("unix:"))

    @property
    def is_started(self) -> bool:
        """Whether it has or had a process."""
        return self._process is not None

    @property
    def process(self) -> WorkerProcess:
        """The process that is the worker, or was the last to be it."""
        assert self._process is not None
        return self._process

    async def answers(self) -> bool:
        """Say whether it answers another process."""
        try:
            await asyncio.wait_for(self.peer.ask("probe"), _ANSWER_S)
        except (TimeoutError, LinkscoreError):
            return False
        return True

    async def spare(self) -> WorkerProcess:
        """Start a process that can become this worker, and does nothing yet."""
        return await WorkerProcess.start(self._lock)

    async def serve(self, process: WorkerProcess) -> None:
        """Let a process be this worker; the one before has ended.

        Raises
        ------
        WorkerFailed
            If it does not come to serve.
        """
        self._socket.unlink(missing_ok=True)
        self._process = process
        process.tell(self.number, self._line)
        await process.wait_for(SERVES, _START_S)


class Supervisor:
    """All workers of a server.

    Parameters
    ----------
    settings
        Of the server.
    kind
        What each worker is.
    """

    def __init__(self, settings: Settings, kind: type[Supervised]) -> None:
        self._settings = settings
        self._kind = kind
        self._counted = SupervisorMetrics()
        self._workers: list[Worker] = []
        self._spare: Spare
        self._tending: list[asyncio.Task[None]] = []
        self._rolling: asyncio.Task[None] | None = None
        self._metrics: WSGIServer | None = None

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT; SIGHUP replaces the processes of the workers, one by one."""
        stopping = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
        check_free("listen", self._settings.listen)
        check_free("metrics_listen", self._settings.metrics_listen)
        with ExitStack() as held:
            lock = held.enter_context(closing(self._kind.data_folder(self._settings))).lock
            holder = held.enter_context(bound("listen", self._settings.listen, is_shared=True))
            host = self._settings.listen.rpartition(":")[0]
            address = f"{host}:{holder.getsockname()[1]}"  # held while no worker listens
            folder = held.enter_context(tempfile.TemporaryDirectory(prefix="linkscore-"))
            self._make(address, lock, Path(folder))
            try:
                await self._start()
                self._serve_metrics()
                asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._roll)
                print(f"linkscore serving on {address}", flush=True)  # the line scripts wait for
                await stopping.wait()
            finally:
                await self._stop()
            _log.info("stopped: all acknowledged pages are in %s", self._settings.data_dir)

    def _make(self, listen: str, lock: int, folder: Path) -> None:
        numbers = range(self._settings.workers)
        sockets = tuple(f"unix:{folder / str(number)}" for number in numbers)
        own = share_of(self._settings, listen)
        self._workers = [
            Worker(self._kind.settings_of(own, number), WorkerAddress(number, sockets, lock))
            for number in numbers
        ]
        self._spare = Spare(lock)
        for number in numbers:
            self._counted.add(number)

    async def _start(self) -> None:
        spares = [await worker.spare() for worker in self._workers]
        pairs = zip(self._workers, spares, strict=True)
        await asyncio.gather(*(self._serve(worker, spare) for worker, spare in pairs))
        self._tending = [self._tended(worker) for worker in self._workers]
        await self._spare.prepare()

    async def _serve(self, worker: Worker, process: WorkerProcess) -> None:
        await worker.serve(process)
        self._counted.up.labels(str(worker.number)).set(1)
        _log.info("worker %d serves, process %d", worker.number, process.pid)

    def _tended(self, worker: Worker) -> asyncio.Task[None]:
        return tasks.for_ever(partial(self._tend, worker), f"the care of worker {worker.number}")

    async def _tend(self, worker: Worker) -> None:
        """Let the spare process be a worker whenever it ends; its shards are read from their logs by then."""
        while True:
            ended = worker.process
            watching = [
                tasks.beside(self._probe(worker, ended), f"probes of worker {worker.number}"),
                tasks.beside(self._look(worker, ended), f"looks whether worker {worker.number} is stopped"),
                tasks.beside(self._watch(worker, ended), f"a look at the end of worker {worker.number}"),
            ]
            try:
                code = await ended.ended()
            finally:
                for task in watching:
                    task.cancel()
            self._counted.up.labels(str(worker.number)).set(0)
            _log.error("worker %d ended with %d, it is started again", worker.number, code)
            await asyncio.sleep(max(0.0, _AGAIN_S - (time.monotonic() - ended.began_s)))
            self._counted.restarts.labels(str(worker.number)).inc()
            try:
                await self._serve(worker, await self._spare.take())
                await self._spare.prepare()
            except (WorkerFailed, OSError) as exc:
                _log.error("%s", exc)

    async def _probe(self, worker: Worker, process: WorkerProcess) -> None:
        """Kill a process that answers nothing any more: it would keep its shards for ever."""
        missed = 0
        while missed < _MISSED:
            await asyncio.sleep(_PROBE_S)
            missed = 0 if await worker.answers() else missed + 1
        _log.error("worker %d, process %d, does not answer, it is killed", worker.number, process.pid)
        process.kill()

    async def _look(self, worker: Worker, process: WorkerProcess) -> None:
        """Kill a stopped process: the kernel goes on giving it connections, which nobody answers."""
        looks = 0
        while looks < 2:
            await asyncio.sleep(_STOPPED_S)
            looks = looks + 1 if process.is_stopped else 0
        _log.error("worker %d, process %d, is stopped, it is killed", worker.number, process.pid)
        process.kill()

    async def _watch(self, worker: Worker, process: WorkerProcess) -> None:
        """End a process that somebody else told to stop: drained, it would wait for workers that stay."""
        with suppress(WorkerFailed):  # it ended otherwise, which `_tend` sees
            await process.wait_for(DRAINED)
            _log.warning("worker %d, process %d, was told to stop, it ends", worker.number, process.pid)
            await process.end(self._settings.drain_s + _END_S)

    def _roll(self) -> None:
        """Begin to replace the processes of all workers, if that is not being done."""
        if self._rolling is None or self._rolling.done():
            self._rolling = tasks.beside(self._replace_all(), "the replacement of all workers")
        else:
            _log.warning("SIGHUP: the workers are being replaced already")

    async def _replace_all(self) -> None:
        await self._spare.end(_END_S)  # of the code of before
        for worker in self._workers:
            try:
                await self._replace(worker)
            except (WorkerFailed, OSError) as exc:
                _log.error("the other workers stay as they are: %s", exc)
                return
        await self._spare.prepare()
        _log.info("all workers are replaced")

    async def _replace(self, worker: Worker) -> None:
        """Let a new process be a worker; what others would ask of it waits until it serves.

        Raises
        ------
        WorkerFailed
            If the new process does not come to serve; it is started again like one that was killed.
        """
        spare = await worker.spare()
        try:
            await spare.wait_for(
                LOADED, _START_S
            )  # reading the code takes the most time: before, not between
            self._tending[worker.number].cancel()
            await asyncio.gather(self._tending[worker.number], return_exceptions=True)
            await self._tell_others("pause", worker)
            self._counted.up.labels(str(worker.number)).set(0)
            try:
                await self._end([worker.process])
                await self._serve(worker, spare)
                self._counted.replacements.labels(str(worker.number)).inc()
            finally:
                await self._tell_others("resume", worker)
                self._tending[worker.number] = self._tended(worker)
        finally:
            if worker.process is not spare:
                await spare.end(_END_S)

    async def _tell_others(self, question: str, worker: Worker) -> None:
        if not self._kind.is_waited_for:
            return
        asked = [
            asyncio.wait_for(other.peer.ask(question, number=worker.number), _TELL_S)
            for other in self._workers
            if other is not worker
        ]
        for error in await asyncio.gather(*asked, return_exceptions=True):
            if isinstance(error, Exception):  # it is away itself: what it would ask fails, and is repeated
                _log.warning("a worker could not be asked to %s: %s", question, error)

    async def _end(self, processes: Sequence[WorkerProcess]) -> None:
        """Drain processes, then let them end: until the last call is answered each may need the others."""
        for process in processes:
            process.drain()
        drained = [process.wait_for(DRAINED, self._settings.drain_s + _END_S) for process in processes]
        for error in await asyncio.gather(*drained, return_exceptions=True):
            if error is not None:
                _log.warning("%s", error)
        await asyncio.gather(*(process.end(self._settings.drain_s + _END_S) for process in processes))

    async def _stop(self) -> None:
        if self._rolling is not None:  # first: it begins to tend a worker again
            self._rolling.cancel()
            await asyncio.gather(self._rolling, return_exceptions=True)
        for task in self._tending:
            task.cancel()
        await asyncio.gather(*self._tending, return_exceptions=True)
        await self._spare.end(_END_S)
        if self._metrics is not None:
            await asyncio.to_thread(self._metrics.shutdown)
            self._metrics.server_close()
        await self._end([worker.process for worker in self._workers if worker.is_started])
        await asyncio.gather(*(worker.peer.close() for worker in self._workers))

    def _serve_metrics(self) -> None:
        if not self._settings.metrics_listen:
            return
        loop = asyncio.get_running_loop()

        def texts() -> dict[int, str]:
            return asyncio.run_coroutine_threadsafe(self._texts(), loop).result()

        self._counted.registry.register(WorkersCollector(texts))
        ProcessCollector(namespace="linkscore_supervisor", registry=self._counted.registry)
        self._metrics = serve_metrics(self._settings.metrics_listen, self._counted.registry)

    async def _texts(self) -> dict[int, str]:
        """Return what each worker says, without those that do not answer."""
        asked = [asyncio.wait_for(worker.peer.ask("metrics"), _METRICS_S) for worker in self._workers]
        found = await asyncio.gather(*asked, return_exceptions=True)
        return {number: got["text"] for number, got in enumerate(found) if isinstance(got, dict)}
