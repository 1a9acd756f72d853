"""Virtual time: processes with an event loop each, and threads of which one runs at a time.

Nothing waits. What a process does in threads (`run_in_executor`, `threading.Thread`) runs in real ones, but
each hands over to the world whenever it would block, and goes on when its time has come: so the order of
everything is drawn by one seed, also within calls that block. A process may be paused, which is SIGSTOP, or
killed.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

_START_S = 0.002  # until a thread begins, at most
_POLL_S = 0.5  # between two looks of what waits for a condition
_DYING_STEPS = 10_000  # more to end the tasks of a killed process: it hangs


class Killed(BaseException):
    """Ends a thread of a process that was killed."""


class World:
    """Time, chance, and all processes.

    Parameters
    ----------
    seed
        Of every draw.

    Attributes
    ----------
    now
        Seconds since the beginning.
    current
        The process whose code runs.
    """

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = 0.0
        self.current: Process | None = None
        self.processes: list[Process] = []
        self.threads = _Threads()
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def at(self, delay_s: float, do: Callable[[], None]) -> None:
        """Do something later, whatever becomes of any process."""
        heapq.heappush(self._later, (self.now + delay_s, next(self._numbers), do))

    def run(self, is_done: Callable[[], bool], limit_s: float) -> bool:
        """Go on until something is so; says whether it was within so many seconds from now."""
        limit = self.now + limit_s
        while not is_done():
            due = [(process.loop.due, process) for process in self.processes if not process.is_paused]
            when = min((at for at, _ in due), default=float("inf"))
            if self._later and self._later[0][0] <= when:
                at, _, do = heapq.heappop(self._later)
                self.now = max(self.now, at)
                do()
            elif when == float("inf"):
                raise AssertionError("nothing is left to happen")
            else:
                self.now = max(self.now, when)
                self.rng.choice([process for at, process in due if at <= self.now]).step()
            if self.now > limit:
                return False
        return True

    def sleep(self, seconds: float) -> None:
        """Block the thread that runs."""
        process = self.running()
        thread = self.threads.current
        process.loop.call_later(seconds, self.threads.go_on, thread, process)
        self.threads.give_back()
        if process.is_dead:
            raise Killed

    def wait_until(self, is_so: Callable[[], bool], limit_s: float = float("inf")) -> bool:
        """Block the thread that runs until something is so; says whether it was in time."""
        limit = self.now + limit_s
        while not is_so():
            if self.now >= limit:
                return False
            self.sleep(min(_POLL_S, limit - self.now))
        return True

    def running(self) -> Process:
        """Return the process whose code runs, which must not be dead."""
        assert self.current is not None
        if self.current.is_dead:
            raise Killed
        return self.current

    def close(self) -> None:
        """End all threads."""
        for process in list(self.processes):
            process.kill()
        self.threads.close()

    @contextmanager
    def instead_of_threads(self, *modules: Any) -> Iterator[None]:
        """Have modules start threads, and wait for them and for futures, in virtual time."""
        played = mock.Mock(
            Event=threading.Event,
            Thread=lambda **kw: _Thread(self, kw["target"], kw.get("args", ())),
            Condition=lambda: _Condition(self),
        )
        with mock.patch.object(asyncio, "run_coroutine_threadsafe", self._run_from_thread):
            for module in modules:
                module.threading = played
            try:
                yield
            finally:
                for module in modules:
                    module.threading = threading

    def future(self) -> Future:
        """Return what a thread may wait for."""
        return Future(self)

    def _run_from_thread(self, work: Coroutine[Any, Any, Any], loop: Loop) -> Future:
        done = self.future()

        async def run() -> None:
            try:
                done.set_result(await work)
            except Exception as exc:
                done.set_exception(exc)

        loop.call_soon(lambda: loop.create_task(run()))
        return done


class Process:
    """What runs on one event loop; `kill` ends it between two of its steps."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.loop = Loop(self)
        self.is_paused = self.is_dead = False
        world.processes.append(self)

    def step(self) -> None:
        """Run what is due."""
        self.world.current = self
        asyncio._set_running_loop(self.loop)
        try:
            self.loop._run_once()
        finally:
            asyncio._set_running_loop(None)
            self.world.current = None

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Begin some work."""
        return self.loop.create_task(work)

    def kill(self) -> None:
        """End at once: what its threads and tasks still do reaches nobody."""
        self.is_dead, self.is_paused = True, False
        self.world.processes.remove(self)
        for waiting in [*self.loop.in_threads, *asyncio.all_tasks(self.loop)]:
            waiting.cancel()
        for _ in range(_DYING_STEPS):
            if self.loop.threads_waiting:
                self.world.current = self
                self.world.threads.go_on(self.loop.threads_waiting[0], self)
                self.world.current = None
            elif asyncio.all_tasks(self.loop):
                self.step()
                for task in asyncio.all_tasks(self.loop):
                    task.cancel()
            else:
                break
        else:
            raise AssertionError(f"{self.name} does not end: {asyncio.all_tasks(self.loop)}")
        self.loop.close()


class Loop(asyncio.BaseEventLoop):
    """An event loop in the time of a world; what asyncio's own has of sockets, it has not."""

    def __init__(self, process: Process) -> None:
        super().__init__()
        self._process = process
        self._selector = self
        self._clock_resolution = 1e-9
        self.threads_waiting: list[_Worker] = []
        self.in_threads: set[asyncio.Future[Any]] = set()

    @property
    def due(self) -> float:
        """When the next step is."""
        if self._ready:
            return self._process.world.now
        return self._scheduled[0]._when if self._scheduled else float("inf")

    def time(self) -> float:
        return self._process.world.now

    def select(self, _: float | None) -> list[Any]:
        return []

    def _process_events(self, _: list[Any]) -> None: ...

    def _write_to_self(self) -> None: ...

    def run_in_executor(self, _: Any, call: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """Call in a thread that hands over where it blocks."""
        done: asyncio.Future[Any] = self.create_future()
        if self._process.is_dead:
            done.cancel()
            return done
        self.in_threads.add(done)
        done.add_done_callback(self.in_threads.discard)

        def run() -> None:
            try:
                result = call(*args)
            except Killed:
                return
            except BaseException as exc:
                self.call_soon(_settle, done, None, exc)
            else:
                self.call_soon(_settle, done, result, None)

        self.start_thread(run)
        return done

    def start_thread(self, run: Callable[[], None]) -> None:
        """Run something in a thread; begins some time from now."""
        world = self._process.world
        thread = world.threads.new(self._process, run)
        self.call_later(world.rng.uniform(0, _START_S), world.threads.go_on, thread, self._process)


def _settle(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if done.done():
        return
    if error is not None:
        done.set_exception(error)
    else:
        done.set_result(result)


class Future:
    """As `concurrent.futures.Future`, as much of it as threads use."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._is_done = False
        self._result: Any = None
        self._error: BaseException | None = None

    def set_result(self, result: Any) -> None:
        self._result, self._is_done = result, True

    def set_exception(self, error: BaseException) -> None:
        self._error, self._is_done = error, True

    def result(self, timeout: float = float("inf")) -> Any:
        if not self._world.wait_until(lambda: self._is_done, timeout):
            raise TimeoutError
        if self._error is not None:
            raise self._error
        return self._result


class _Thread:
    """As `threading.Thread`, as much of it as is used."""

    def __init__(self, world: World, target: Callable[..., None], args: tuple[Any, ...]) -> None:
        self._world, self._target, self._args = world, target, args
        self._loop = world.running().loop
        self._is_alive = False

    def start(self) -> None:
        self._is_alive = True
        self._loop.start_thread(self._run)

    def join(self, timeout: float = float("inf")) -> None:
        self._world.wait_until(lambda: not self._is_alive, timeout)

    def is_alive(self) -> bool:
        return self._is_alive

    def _run(self) -> None:
        try:
            self._target(*self._args)
        except Killed:
            pass
        finally:
            self._is_alive = False


class _Condition:
    """As `threading.Condition`, as much of it as is used; one thread runs at a time."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass

    def notify_all(self) -> None:
        """Whoever waits looks by itself."""

    def wait_for(self, predicate: Callable[[], bool]) -> bool:
        return self._world.wait_until(predicate)


class _Worker:
    """A real thread, that runs when it is its turn."""

    def __init__(self, threads: _Threads) -> None:
        self._threads = threads
        self.turn = threading.Lock()
        self.turn.acquire()
        self.run: Callable[[], None] | None = None
        self.process: Process | None = None
        threading.Thread(target=self._run_all, daemon=True).start()

    def _run_all(self) -> None:
        while True:
            self.turn.acquire()
            if self.run is None:
                return
            self.run()
            assert self.process is not None
            self.process.loop.threads_waiting.remove(self)
            self.run = self.process = None
            self._threads.idle.append(self)
            self._threads.back.release()


class _Threads:
    """All threads of a world; one of them runs, or the world does."""

    def __init__(self) -> None:
        self.idle: list[_Worker] = []
        self.back = threading.Lock()
        self.back.acquire()
        self.current: _Worker | None = None

    def new(self, process: Process, run: Callable[[], None]) -> _Worker:
        worker = self.idle.pop() if self.idle else _Worker(self)
        worker.run, worker.process = run, process
        process.loop.threads_waiting.append(worker)
        return worker

    def go_on(self, worker: _Worker, process: Process) -> None:
        """Let a thread run until it blocks or ends, if it is still of the process."""
        if worker.process is not process:
            return
        self.current = worker
        worker.turn.release()
        self.back.acquire()
        self.current = None

    def give_back(self) -> None:
        """Let the world go on; returns when it is the thread's turn again."""
        worker = self.current
        assert worker is not None
        self.back.release()
        worker.turn.acquire()

    def close(self) -> None:
        for worker in self.idle:
            worker.turn.release()
