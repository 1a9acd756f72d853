"""Several processes that serve one data folder at one port: `linkscore serve --workers N`.

Each listens at the common port (SO_REUSEPORT: the kernel gives a connection to one of them), has the shards
that its number says, and asks the others over sockets in a private folder. Here they are started, started
again when they end, and ended in two steps: until the last call is answered each may need the others. A
worker reads what it is from the first line of its input, and ends when the input does.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, replace
from functools import partial
from io import FileIO
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from linkscore_cli.files import bound, check_free
from linkscore_scoring.errors import LinkscoreError
from linkscore_server import app, observability, tasks
from linkscore_server.data_folder import DataFolder
from linkscore_server.front.front import Share
from linkscore_server.front.owners import Peer
from linkscore_server.observability import serve_metrics
from linkscore_server.settings import Settings
from linkscore_server.store import open_store

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
    stopping, ended = tasks.asked_to_end(), asyncio.Event()

    async def watch_input() -> None:
        reader, loop = asyncio.StreamReader(), asyncio.get_running_loop()
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


_log = logging.getLogger(__name__)
_START_S = 600.0
"""Longest start of a worker: a bound, so that a damaged disk is not waited for for ever."""
_AGAIN_S = 1.0
"""Seconds between two starts of a worker that ends at once. Chosen, not measured."""
_END_S = 30.0
"""Seconds for a worker to write its states and end after the drain, before it is killed. A bound."""
_LOOK_S, _ANSWER_S, _MISSED = 1.0, 10.0, 3
"""A worker is asked so often whether it answers, which takes milliseconds; one that does not within so long,
so many times in a row, is killed: it would keep its shards for ever. So is one that a signal stopped, at the
second look: the kernel goes on giving it connections. A judgement: after Ctrl-Z all go on within moments."""
_METRICS_S = 2.0
"""Longest wait for the metrics of a worker. A bound: Prometheus waits 10 s by default."""
_LABEL = "worker"


class WorkerFailed(LinkscoreError):
    """A worker ended, or did not do in time what it was to do."""


class Worker:
    """One of the processes, started again whenever it ends; `lock`: of the data folder, held by all."""

    def __init__(self, settings: Settings, share: Share, lock: int) -> None:
        self.number = share.number
        self.peer = Peer(share.sockets[share.number], settings.max_message_bytes)
        self._socket = Path(share.sockets[share.number].removeprefix("unix:"))
        self._line, self._lock, self._end_s = packed(settings, share, lock), lock, settings.drain_s + _END_S
        self._process: asyncio.subprocess.Process | None = None
        self._said: dict[str, asyncio.Event] = {}
        self.began_s = 0.0

    async def start(self) -> None:
        """Start a process and wait until it serves; WorkerFailed if it ends before."""
        self._socket.unlink(missing_ok=True)
        self.began_s, self._said = time.monotonic(), {SERVES: asyncio.Event(), DRAINED: asyncio.Event()}
        process = self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "linkscore_server.front.workers"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=[self._lock],
        )
        assert process.stdin is not None
        process.stdin.write(f"{self._line}\n".encode())
        tasks.beside(self._hear(process), f"the output of worker {self.number}")
        await self._until(SERVES, _START_S)
        _log.info("worker %d serves, process %d", self.number, process.pid)

    async def ended(self) -> int:
        """Wait for the end of the process; returns its exit code, negative for a signal."""
        assert self._process is not None
        watching = tasks.beside(self._watch(), f"a watch of worker {self.number}")
        try:
            return await self._process.wait()
        finally:
            watching.cancel()

    async def drain(self) -> None:
        """Have it take in nothing more, and wait until what it took in is answered."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
            with suppress(WorkerFailed):
                await self._until(DRAINED, self._end_s)

    async def end(self) -> None:
        """Let it write its states and end; kill it if it does not."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), self._end_s)
        except TimeoutError:
            self._kill("does not end")
            await self._process.wait()

    async def _until(self, word: str, within_s: float) -> None:
        assert self._process is not None
        saying, ending = tasks.awaited(self._said[word].wait()), tasks.awaited(self._process.wait())
        await asyncio.wait({saying, ending}, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        saying.cancel()
        ending.cancel()
        if not self._said[word].is_set():
            raise WorkerFailed(f"worker {self.number} ended early or is late; see its log lines")

    async def _hear(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        said = self._said
        while line := await process.stdout.readline():
            if (word := line.decode().strip()) in said:
                said[word].set()

    async def _watch(self) -> None:
        missed = stopped = 0
        while missed < _MISSED and stopped < 2:
            await asyncio.sleep(_LOOK_S)
            if self._said[DRAINED].is_set():  # told to stop by somebody else, it would wait for the others
                await self.end()
                return
            if self._is_stopped():
                stopped += 1
                continue
            stopped = 0
            try:
                async with asyncio.timeout(_ANSWER_S):
                    await self.peer.ask("shards", crawls=[])
                missed = 0
            except (TimeoutError, LinkscoreError):
                missed += 1
        self._kill("is stopped" if stopped else "does not answer")

    def _is_stopped(self) -> bool:
        """Say whether a signal stopped it; Python before 3.13 cannot say on macOS, where none is."""
        assert self._process is not None
        with suppress(ChildProcessError, AttributeError):
            return os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
        return False

    def _kill(self, why: str) -> None:
        if self._process is not None and self._process.returncode is None:
            _log.error("worker %d, process %d, %s, it is killed", self.number, self._process.pid, why)
            self._process.kill()


class Supervisor:
    """Runs the workers of a server until SIGTERM or SIGINT."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.registry = CollectorRegistry()
        self._up = Gauge("linkscore_worker_up", "Whether a worker serves", [_LABEL], registry=self.registry)
        self._restarts = Counter(
            "linkscore_worker_restarts",
            "Restarts of a worker after its end",
            [_LABEL],
            registry=self.registry,
        )
        self._end_metrics: Callable[[], None] = lambda: None
        self._workers: list[Worker] = []
        self._tending: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """Serve; WorkerFailed if a worker does not come to serve at the start."""
        s, stopping = self._settings, tasks.asked_to_end()
        if not os.isatty(0):  # else it says that the terminal is gone
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        check_free("metrics_listen", s.metrics_listen)
        with ExitStack() as held:
            check_free("listen", s.listen)
            lock = held.enter_context(closing(DataFolder(Path(s.data_dir)))).lock
            holder = held.enter_context(bound("listen", s.listen, is_shared=True))
            address = (
                f"{s.listen.rpartition(':')[0]}:{holder.getsockname()[1]}"  # held while no worker listens
            )
            folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="linkscore-")))
            sockets = tuple(f"unix:{folder / str(number)}" for number in range(s.workers))
            own = share_of(s, address)
            with closing(open_store(s.data_dir)) as store:
                store.secret()  # made once, before workers ask for it
            self._workers = [Worker(own, Share(number, sockets), lock) for number in range(s.workers)]
            try:
                await asyncio.gather(*map(self._start, self._workers))
                self._tending = [
                    tasks.for_ever(partial(self._tend, one), f"the care of worker {one.number}")
                    for one in self._workers
                ]
                self._end_metrics = self._serve_metrics()
                print(f"linkscore serving on {address}", flush=True)  # the line scripts wait for
                await stopping.wait()
            finally:
                await self._stop()
            _log.info("stopped: all acknowledged pages are in %s", s.data_dir)

    async def _start(self, worker: Worker) -> None:
        await worker.start()
        self._up.labels(str(worker.number)).set(1)

    async def _tend(self, worker: Worker) -> None:
        """Start a worker again whenever it ends; its shards are read from the store by then."""
        code = await worker.ended()
        self._up.labels(str(worker.number)).set(0)
        _log.log(logging.ERROR if code else logging.INFO, "worker %d ended with %d", worker.number, code)
        await asyncio.sleep(max(0.0, _AGAIN_S - (time.monotonic() - worker.began_s)))
        self._restarts.labels(str(worker.number)).inc()
        try:
            await self._start(worker)
        except (WorkerFailed, OSError) as exc:
            _log.error("%s", exc)

    async def _stop(self) -> None:
        for task in self._tending:
            task.cancel()
        await asyncio.gather(*self._tending, return_exceptions=True)
        await asyncio.to_thread(self._end_metrics)
        await asyncio.gather(*(worker.drain() for worker in self._workers))
        await asyncio.gather(*(worker.end() for worker in self._workers))
        await asyncio.gather(*(worker.peer.close() for worker in self._workers))

    def _serve_metrics(self) -> Callable[[], None]:
        loop = asyncio.get_running_loop()
        self.registry.register(
            WorkersCollector(lambda: asyncio.run_coroutine_threadsafe(self._texts(), loop).result())
        )
        ProcessCollector(namespace="linkscore_supervisor", registry=self.registry)
        return serve_metrics(self._settings.metrics_listen, self.registry)

    async def _texts(self) -> dict[int, str]:
        """Return the metrics of each worker, without those that do not answer."""
        asked = [asyncio.wait_for(worker.peer.ask("metrics"), _METRICS_S) for worker in self._workers]
        found = await asyncio.gather(*asked, return_exceptions=True)
        return {number: got["text"] for number, got in enumerate(found) if isinstance(got, dict)}


class WorkersCollector(Collector):
    """The metrics of all workers, each with its number; `texts` asks them, in the format of OpenMetrics."""

    def __init__(self, texts: Callable[[], Mapping[int, str]]) -> None:
        self._texts = texts

    def collect(self) -> Iterator[Metric]:
        merged: dict[str, Metric] = {}
        for number, text in sorted(self._texts().items()):
            for family in text_string_to_metric_families(text):  # type: ignore[no-untyped-call]
                whole = merged.setdefault(
                    family.name, Metric(family.name, family.documentation, family.type, family.unit)
                )
                whole.samples += [
                    sample._replace(labels={**sample.labels, _LABEL: str(number)})
                    for sample in family.samples
                ]
        yield from merged.values()


def share_of(settings: Settings, listen: str) -> Settings:
    """Return the settings of a worker at an address: its share of all bounds, and no metrics port."""
    n = settings.workers
    return replace(
        settings,
        listen=listen,
        metrics_listen="",
        site_memory_mb=max(1, settings.site_memory_mb // n),
        memory_mb=max(1, settings.memory_mb // n),
        max_inflight_bytes=max(settings.max_message_bytes, settings.max_inflight_bytes // n),
    )


def main() -> None:
    """Run the worker that the first line of the input describes."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # is for the supervisor, and may be sent to all processes
    with FileIO(0, closefd=False) as unbuffered:  # what follows the line stays in the pipe
        line = unbuffered.readline().decode()
    if not line:
        return
    observability.set_up(_unpacked(line)[0].log_level)
    try:
        asyncio.run(_run(line))
    except Exception as exc:
        observability.log_failed_start(exc)
        sys.exit(1)


if __name__ == "__main__":
    main()
