"""One door before every call: who makes it, how many bytes it brings, how it ends.

Every handler is given to gRPC as one that takes a stream of raw bytes, where the contract has a single
request: on the wire that is the same, and nothing is read of a call that is refused. gRPC's own limits bound
calls, streams, connections and the size of a message (`app`); here the bytes in work are bounded, and those
on their way. `Turns` says whose turn a page is: few calls of a crawl beside each other, and one page in each
round of the event loop.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import math
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any
from weakref import WeakValueDictionary

import grpc
from grpc_status import rpc_status

from linkscore_scoring.errors import InvalidInput, LinkscoreError
from linkscore_server.observability import REQUEST_ID as KEY
from linkscore_server.observability import Metrics, begin_request
from linkscore_server.operator_files import ANYBODY, Caller, Role
from linkscore_server.services.contract import (
    CALLER,
    RPCS,
    BadToken,
    CallerGone,
    Leaving,
    MalformedMessage,
    NotAllowed,
    NotServing,
    Overloaded,
    named_in,
    status_of,
    without_frames,
)
from linkscore_server.services.messages import wrong_numbers

_CALLS = 4
"""Calls of a crawl whose pages are parsed in turn; others of it wait in the order they came, so that those
that came first end first, and a short call does not wait for one long one. Chosen, not measured."""


@dataclass(eq=False, slots=True, weakref_slot=True)
class Queue:
    """Calls and pages of one crawl that wait for their turns; who had its turn releases `calls`."""

    calls: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_CALLS))
    pages: deque[asyncio.Future[None]] = field(default_factory=deque)


class Turns:
    """Gives calls and their pages their turns: crawls are served one after the other, a page each.

    A call waits for `longest_s` at most.
    """

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self._crawls: WeakValueDictionary[str, Queue] = WeakValueDictionary()
        self._waiting: dict[Queue, None] = {}
        self._since_s: dict[object, float] = {}
        self._is_taken = False

    @property
    def delay_s(self) -> float:
        """Seconds that the call has waited which waits for longest."""
        return time.monotonic() - next(iter(self._since_s.values()), time.monotonic())

    async def of_call(self, crawl: str) -> Queue:
        """Wait until a call may begin beside few others of its crawl; raises `Overloaded`."""
        queue = self._crawls.setdefault(crawl, Queue())
        if not queue.calls.locked():
            await queue.calls.acquire()
            return queue
        waits = object()
        self._since_s[waits] = time.monotonic()
        try:
            async with asyncio.timeout(self._longest_s):
                await queue.calls.acquire()
        except TimeoutError:
            rule = f"calls of this crawl wait for more than {self._longest_s:g} s"
            raise Overloaded(rule, self._longest_s) from None
        finally:
            del self._since_s[waits]
        return queue

    async def of_page(self, queue: Queue, context: Any) -> None:
        """Wait for the turn of a page, in a round of the event loop of its own; `end_page` ends it."""
        if self._is_taken:
            turn = asyncio.get_running_loop().create_future()
            queue.pages.append(turn)
            self._waiting[queue] = None
            try:
                await turn
                require_caller(context)
            except BaseException:
                if not turn.cancelled():  # its turn had come
                    self._pass_on()
                raise
        else:
            require_caller(context)
        self._is_taken = True

    def end_page(self) -> None:
        """Pass the turn on, in the next round: what came meanwhile, health and refusals, is heard before."""
        asyncio.get_running_loop().call_soon(self._pass_on)

    def _pass_on(self) -> None:
        """Give the turn to the next page, of the crawl that was served longest ago."""
        self._is_taken = False
        while self._waiting and not self._is_taken:
            queue = next(iter(self._waiting))
            del self._waiting[queue]
            turn = queue.pages.popleft()
            if queue.pages:
                self._waiting[queue] = None
            if not turn.done():  # else its caller is gone
                self._is_taken = True
                turn.set_result(None)


def require_caller(context: Any) -> None:
    """Stop work that nobody waits for any more, before it is durable."""
    remaining_s = context.time_remaining()
    if context.cancelled() or (remaining_s is not None and remaining_s <= 0):
        raise CallerGone("the caller is gone or its deadline has passed")


METADATA = ("authorization", KEY)
"""What a call says beside its request."""

_OURS = "/linkscore.v1."
_SMALL_BYTES = 1 << 16
"""Below so many bytes a message is let in whatever its crawl has: calls are bounded. Chosen, not measured."""
_AGAIN_S = 1.0
"""Pause that a caller without room is asked to make. Chosen, not measured."""
_RECEIVE_S = 60.0
"""Seconds in which the request of a call must have come: 64 MB at 9 Mbit/s. A bound."""
_YOUNG_S = 0.05
"""A message that has been waited for so long is not small: it may be refused for memory. Chosen."""
_LOOK_S, _SLOW_BYTES = 0.02, 2 << 20
"""Seconds between looks at the memory while messages are on their way, and bytes by which crawls make it grow
meanwhile: a fast one learns some 10 MB a second. Chosen."""
_SHED = 2
"""Of the messages on their way one in so many is refused at each look without memory. Chosen."""
_MOST_NAME_CHARS = 8_192
"""Characters of a resource name: more than those of the longest crawl and site, escaped. A bound."""
_MOST_WRONG = 20  # numbers of a request that are named; a bound
_TURN_AWAY_S = 0.1
"""How long new calls are turned away before the server closes: several round trips. Chosen, not measured."""
_PUSHBACK, _COME_AGAIN_MS = "grpc-retry-pushback-ms", 250
"""Trailer that tells gRPC's own retries when to begin, and the time: after the server has closed."""
_SLOW_S = 2.5
"""Seconds from which a call leaves a line in the log: the bound of `LinkscoreSlow`, which sends you there."""
_UNTIMED = frozenset({"LearnSite", "ImportBrowseRecords", "MineSite"})
"""Calls that last as long as a learning or an import takes: slow says nothing of them."""

_log = logging.getLogger(__name__)
_trim = getattr(ctypes.CDLL(None), "malloc_trim", lambda pad: None)  # glibc keeps what it was given back

CallerOf = Callable[[str], Caller | None]
"""Gives who sends a header `authorization`, None for nobody known."""


class BytesInWork:
    """Bounds the bytes of requests and answers in work; the greediest crawl leaves room to others.

    A crawl may have as much as it leaves free: half of the bound when it is alone, a third when two bring
    much. Choudhury and Hahne, Dynamic Queue Length Thresholds for Shared-Memory Packet Switches, IEEE/ACM
    Transactions on Networking 6(2), 1998, with a factor of 1.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.used = 0
        self._of: Counter[str] = Counter()

    def take(self, crawl: str, size: int, *, is_owed: bool = False) -> None:
        """Count bytes of a crawl; those that `is_owed` whatever it has, small ones too, and what is alone."""
        is_free = is_owed or not self.used or size < _SMALL_BYTES
        if not is_free and self._of[crawl] + size > self.most - self.used:
            own = f"{self._of[crawl]} of them of this crawl"
            raise Overloaded(f"max_inflight_bytes: {self.used} bytes are in work, {own}", _AGAIN_S)
        self.used += size
        self._of[crawl] += size

    def give_back(self, crawl: str, size: int, *_: object) -> None:
        """Count bytes no more."""
        self.used -= size
        self._of[crawl] -= size
        if not self._of[crawl]:
            del self._of[crawl]


class Arrivals:
    """Reads messages; without memory, those that were begun first are refused.

    gRPC gives a message when it is whole and says nothing before. What it holds of messages on their way is
    seen in the memory of the process alone: in what it takes (`resident`, at most `most` bytes), and in how
    fast that grows: `burst` is by how many bytes faster than a crawl makes it grow.
    """

    def __init__(
        self, resident: Callable[[], int] = lambda: 0, most: float = math.inf, burst: float = math.inf
    ) -> None:
        self._resident, self._most, self._burst = resident, most, burst
        self._before = 0
        self._began_s: dict[asyncio.Task[Any], float] = {}
        self._looking: asyncio.TimerHandle | None = None

    async def next(self, context: Any) -> bytes | None:
        """Return the next message of a call, None after the last; raises `Overloaded`."""
        task: Any = asyncio.current_task()
        if self._looking is None:
            self._before = self._resident()
            self._looking = asyncio.get_running_loop().call_later(_LOOK_S, self._look)
        self._began_s[task] = time.monotonic()
        try:
            # gRPC's own iterator would keep the last message until cycles are collected.
            raw = await context.read()
        except asyncio.CancelledError as exc:
            if task in self._began_s or task.uncancel():  # by its caller
                raise
            raise Overloaded(str(exc), _AGAIN_S) from None
        finally:
            self._began_s.pop(task, None)
        return None if raw is grpc.aio.EOF else raw

    def _look(self) -> None:
        self._looking, now_s = None, time.monotonic()
        if not self._began_s:
            return
        old = [task for task, began_s in self._began_s.items() if now_s - began_s > _YOUNG_S]
        late = f"the request did not come within {_RECEIVE_S:g} s"
        refused = {task: late for task in old if now_s - self._began_s[task] > _RECEIVE_S}
        if self._is_full():
            _trim(0)
            if old and self._is_full():
                shed = old[: -(-len(old) // _SHED)]
                _log.warning(
                    "memory_mb: %d of %d requests on their way are refused", len(shed), len(self._began_s)
                )
                refused |= dict.fromkeys(shed, "memory_mb: requests on their way take too much")
        for task, rule in refused.items():
            del self._began_s[task]
            task.cancel(rule)
        self._looking = asyncio.get_running_loop().call_later(_LOOK_S, self._look)

    def _is_full(self) -> bool:
        now = self._resident()
        self._before = min(now, self._before + _SLOW_BYTES)
        return now > self._most or now - self._before > self._burst


@dataclass(slots=True)
class _Call:
    """One call on its way: who makes it, what it is about, how it ended."""

    method: str
    who: Caller | None
    context: Any
    peer: str
    request_id: str
    started: float = field(default_factory=time.perf_counter)
    is_in: bool = False
    about: str = ""
    crawl: str = ""
    code: grpc.StatusCode = grpc.StatusCode.CANCELLED

    @property
    def name(self) -> str:
        return self.who.name if self.who is not None else "nobody"


class Door(grpc.aio.ServerInterceptor):
    """Lets the calls of a server in, and says how they ended; health and reflection are for everybody.

    `is_ready`: whether calls can be answered now; whoever starts and stops the server says so.
    """

    def __init__(
        self,
        metrics: Metrics,
        in_work: BytesInWork,
        *,
        arrivals: Arrivals | None = None,
        caller_of: CallerOf | None = None,
        is_ready: bool = True,
    ) -> None:
        self._metrics = metrics
        self._in_work = in_work
        self._arrivals = arrivals or Arrivals()
        self._caller_of = caller_of or (lambda _: ANYBODY)
        self.is_ready = is_ready
        self._is_leaving = False
        self._calls = 0
        self._handlers: dict[str, Any] = {}

    async def turn_away(self) -> None:
        """Tell new calls to come again once the connection is closed.

        gRPC ends a call without a word of its reason that is sent after the server began to close and before
        its caller hears of it. Who is turned away sends nothing at that moment.
        """
        self._is_leaving = True
        await asyncio.sleep(_TURN_AWAY_S)

    async def idle(self) -> None:
        """Wait until no call of linkscore's own services that was let in is in flight."""
        while self._calls:
            await asyncio.sleep(_LOOK_S)

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        """Return the handler of a call, which is wrapped when its method is called first."""
        known = self._handlers.get(details.method)
        if known is not None:
            return known
        handler = await continuation(details)
        if handler is None:
            return None
        is_own, method = details.method.startswith(_OURS), details.method.removeprefix(_OURS)
        known = self._own(handler, method) if is_own else self._open(handler)
        self._handlers[details.method] = known
        return known

    def _own(self, handler: Any, method: str) -> Any:
        """Wrap a call of the contract."""

        async def answer(_: Any, context: Any) -> Any:  # of a partial, gRPC asks each time what it is
            call = self._begin(method, context)
            try:
                self._check(call)
                raw = await self._arrivals.next(context)
                request, size = _parsed(handler, call, raw), len(raw or b"")
                del raw
                self._in_work.take(call.crawl, size)
                try:
                    response = await handler.unary_unary(request, context)
                finally:
                    self._in_work.give_back(call.crawl, size)
                    del request
                raw = handler.response_serializer(response)
                # Counted until its task ends: when gRPC has sent it. One of a call that changed something is
                # sent whatever its crawl has.
                task: Any = asyncio.current_task()
                self._in_work.take(call.crawl, len(raw), is_owed=RPCS[method].role > Role.READ)
                task.add_done_callback(partial(self._in_work.give_back, call.crawl, len(raw)))
                call.code = grpc.StatusCode.OK
                return raw
            except Exception as exc:
                await self._fail(call, exc)
            finally:
                self._end(call)

        return grpc.stream_unary_rpc_method_handler(answer)

    def _open(self, handler: Any) -> Any:
        """Wrap a call that anybody may make at any time: health and reflection."""

        async def messages(context: Any) -> AsyncIterator[Any]:
            while (raw := await self._arrivals.next(context)) is not None:
                yield handler.request_deserializer(raw)

        async def answered(_: Any, context: Any) -> AsyncIterator[Any]:
            try:
                if handler.stream_stream is not None:
                    async with aclosing(handler.stream_stream(messages(context), context)) as answers:
                        async for answer in answers:
                            yield answer
                    return
                request = handler.request_deserializer(await self._arrivals.next(context) or b"")
                # One that gives a stream of answers writes them itself.
                answer = await (handler.unary_unary or handler.unary_stream)(request, context)
                if answer is not None:
                    yield answer
            except LinkscoreError as exc:
                await context.abort_with_status(rpc_status.to_status(status_of(exc)))

        return grpc.stream_stream_rpc_method_handler(answered, None, handler.response_serializer)

    def _begin(self, method: str, context: Any) -> _Call:
        metadata = dict(context.invocation_metadata() or ())
        name = begin_request(str(metadata.get(KEY, "")))
        context.set_trailing_metadata(((KEY, name),))
        # Asked now: of a call that gRPC has cancelled its C core gives no address, it crashes.
        peer, who = context.peer(), self._caller_of(str(metadata.get("authorization", "")))
        return _Call(method, who, context, peer, name)

    def _check(self, call: _Call) -> None:
        """Let a call in, or refuse it for who makes it, or for the state of the server."""
        if call.who is None:
            raise BadToken("authorization: must be 'Bearer <token>' with a token of this server")
        if self._is_leaving:
            raise Leaving("this process of the server ends, try again over a new connection")
        if not self.is_ready:
            raise NotServing("state is loading or the server drains, try again")
        rpc = RPCS.get(call.method)
        if rpc is None:
            raise NotAllowed(f"{call.method}: no role may call it")
        if call.who.role < rpc.role:
            need, has = rpc.role.name.lower(), call.who.role.name.lower()
            raise NotAllowed(f"{call.method} needs role {need}, {call.who.name} has {has}")
        CALLER.set(call.who)
        call.is_in = True
        self._calls += 1

    async def _fail(self, call: _Call, error: Exception) -> None:
        """Set the status of a failed call; the handler then ends without a response, or aborts."""
        if isinstance(error, grpc.aio.AbortError):
            raise error
        if isinstance(error, MalformedMessage):
            _log.warning("%s of %s at %s: %s", call.method, call.name, call.peer, error)
        if isinstance(error, Overloaded):
            self._metrics.of("calls_shed", call.method).inc()
        status = rpc_status.to_status(status_of(error))
        call.context.set_code(status.code)
        call.context.set_details(status.details)
        trailers = [*status.trailing_metadata, (KEY, call.request_id)]
        if isinstance(error, Leaving):
            trailers.append((_PUSHBACK, str(_COME_AGAIN_MS)))
        call.context.set_trailing_metadata(trailers)
        call.code = status.code
        without_frames(error)
        if status.code is grpc.StatusCode.UNAVAILABLE:
            # Only a call that is aborted is answered by trailers alone, which is what gRPC's retries ask for.
            await call.context.abort(status.code, status.details, tuple(trailers))

    def _end(self, call: _Call) -> None:
        seconds = time.perf_counter() - call.started
        self._calls -= call.is_in
        took = self._metrics.of("rpc", call.method, call.code.name)
        took.observe(seconds, {"request_id": call.request_id})  # an exemplar: OpenMetrics has the latest
        is_slow = seconds > _SLOW_S and call.method.rpartition("/")[2] not in _UNTIMED
        is_told = call.method in RPCS and RPCS[call.method].is_told
        if is_slow or is_told:
            said = (call.request_id, call.method, call.about, call.name, call.peer, seconds, call.code.name)
            level = logging.WARNING if is_slow else logging.INFO
            _log.log(level, "request %s: %s %s of %s at %s took %.1f s, %s", *said)


def _parsed(handler: Any, call: _Call, raw: bytes | None) -> Any:
    """Return a request that its caller may make: of a crawl of its own, with numbers within their bounds."""
    if raw is None:
        raise MalformedMessage("there is no request")
    try:
        request = handler.request_deserializer(raw)
    except Exception:  # what protobuf raises depends on its implementation
        raise MalformedMessage(f"the {len(raw)} bytes sent are no request of {call.method}") from None
    assert call.who is not None
    name, crawl = named_in(call.method, request)
    if len(name) > _MOST_NAME_CHARS:
        rule = f"must have at most {_MOST_NAME_CHARS} characters, got {len(name)}"
        raise InvalidInput(rule, field=RPCS[call.method].crawl)
    if name:
        call.about, call.crawl = name, crawl
        if "*" not in call.who.crawls and not call.who.may_touch(call.crawl):
            raise NotAllowed(f"crawls/{call.crawl} is not among the crawls of {call.who.name}")
    if wrong := list(islice(wrong_numbers(request), _MOST_WRONG)):
        raise InvalidInput(wrong)
    return request
