"""Outages of the server of a crawl: what happens to it half way, and for how long.

========== ===========================================================================================
away:10    killed, and started again 10 s later
restart:3  ended by SIGTERM, and started again 3 s after it has ended
end        killed, and never back
disk:10    the disk with its data is full for 10 s; needs root, or the right to mount (a `tmpfs`)
slow:5     every answer comes 5 s later, for `SLOW_S`
========== ===========================================================================================
"""

from __future__ import annotations

import errno
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Self

from linkscore import Client, page
from linkscore_lab.crawls.demo import LOOPBACK, OwnServer
from linkscore_lab.datasets.site import Site

#: How long answers are late. Long enough for several calls to meet their deadline.
SLOW_S = 30.0
#: Of the disk that fills up; what other crawls have is added. A crawl of a thousand pages logs a few MB.
DISK_BYTES = 96 << 20
_CHUNK_BYTES = 1 << 16
_OTHER = "other-"
#: Pages of another crawl that are sent in a call; chosen, well below what a call may carry.
_BATCH_PAGES = 50

#: A piece of an answer: when it came, and what; nothing when the server has hung up.
_Piece = tuple[float, bytes]


@dataclass(frozen=True, slots=True)
class Outage:
    """One kind of outage."""

    name: str  # As it was written
    kind: str  # ``away``, ``restart``, ``end``, ``disk`` or ``slow``
    seconds: float  # How long it takes; of ``slow``, how late answers are; infinite for ``end``

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``kind:seconds``; there are usual seconds for each, and ``end`` has none.

        Examples
        --------
        >>> Outage.parse("away:10")
        Outage(name='away:10', kind='away', seconds=10.0)
        >>> Outage.parse("end").seconds
        inf
        """
        kind, _, seconds = text.partition(":")
        usual = {"away": "10", "restart": "3", "end": "inf", "disk": "10", "slow": "5"}
        if kind not in usual or (kind == "end" and seconds):
            raise ValueError(f"must be end, or one of away, restart, disk and slow with :SECONDS, got {text}")
        length = float(seconds or usual[kind])
        if not length > 0:
            raise ValueError(f"must last longer than 0 s, got {text}")
        return cls(text, kind, length)


class Interrupted:
    """A server that has an outage once."""

    def __init__(
        self, address: str, begin: Callable[[], None], end: Callable[[], None], seconds: float
    ) -> None:
        self.address = address
        self.began: int | None = None
        self.back: int | None = None
        self._begin, self._end, self._seconds = begin, end, seconds
        self._over = threading.Event()

    def happen(self, done: Callable[[], int]) -> None:
        """Have the outage; `done` counts what the crawl has done.

        A crawl that is over ends it: the server is left as it is then.
        """
        self._begin()
        self.began = done()
        if not self._over.wait(None if self._seconds == float("inf") else self._seconds):
            self._end()
            self.back = done()

    def crawled(self) -> None:
        """Say that the crawl is over."""
        self._over.set()


@contextmanager
def interrupted(server: OwnServer, data: Path, outage: Outage | None) -> Iterator[Interrupted | None]:
    """Give the `outage` of the running `server`, whose data lies in `data`."""
    if outage is None:
        yield None
    elif outage.kind == "slow":
        with SlowRelay(server.address) as relay:
            slower, faster = partial(relay.delay, outage.seconds), partial(relay.delay, 0.0)
            yield Interrupted(relay.address, slower, faster, SLOW_S)
    elif outage.kind == "disk":
        filler = data / "filler"
        yield Interrupted(server.address, partial(fill_up, filler), filler.unlink, outage.seconds)
    else:
        begin = server.stop if outage.kind == "restart" else server.kill
        yield Interrupted(server.address, begin, server.start, outage.seconds)


@contextmanager
def data_disk(folder: Path, outage: Outage | None, more_bytes: int = 0) -> Iterator[Path]:
    """Give a folder for data: `folder`, with a small disk mounted there for an outage that fills it."""
    if outage is None or outage.kind != "disk":
        yield folder
        return
    size = f"size={DISK_BYTES + more_bytes}"
    _run("mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder))
    try:
        yield folder
    finally:
        _run("umount", "--lazy", str(folder))


def _run(*command: str) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the two above
    if ran.returncode:
        raise PermissionError(f"a disk that fills up must be mounted: {ran.stderr.strip()}")


def make_crawls(folder: Path, log: Path, number: int, site: Site, pages: Sequence[str]) -> None:
    """Let a server that is started for it take in `number` crawls of the `pages` of a site."""
    server = OwnServer(folder, log)
    server.start()
    try:
        with Client(server.address) as client:
            for crawl in (f"{_OTHER}{n}" for n in range(number)):
                client.ensure_crawl(crawl=crawl)
                for first in range(0, len(pages), _BATCH_PAGES):
                    urls = pages[first : first + _BATCH_PAGES]
                    fetched = [page(url=url, body=site.respond(url).body) for url in urls]
                    client.ingest_pages(crawl=crawl, pages=fetched, timeout_s=60.0)
    finally:
        server.stop()


def pages_taken(server: OwnServer) -> int:
    """Count what a server took in, `make_crawls` left out; it is started again if it was killed."""
    if not server.runs:
        server.start()
    with Client(server.address) as client:
        crawls = client.list_crawls(timeout_s=60.0)
        return sum(crawl.page_count for crawl in crawls if not crawl.name.startswith(f"crawls/{_OTHER}"))


def size_of(folder: Path) -> int:
    """Return the bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def fill_up(filler: Path) -> None:
    """Write a file until the disk is full."""
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(_CHUNK_BYTES))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


class SlowRelay:
    """A TCP relay on loopback whose answers may come late; a context manager that ends it."""

    def __init__(self, target: str) -> None:
        host, port = target.rsplit(":", 1)
        self._target = (host, int(port))
        self._listening = socket.create_server((LOOPBACK, 0))
        self.address = f"{LOOPBACK}:{self._listening.getsockname()[1]}"
        self._late_s = 0.0
        self._changed = threading.Condition()
        self._open: list[socket.socket] = []

    def delay(self, seconds: float) -> None:
        """Hold back each piece of an answer for so long; 0 lets go what is held."""
        with self._changed:
            self._late_s = seconds
            self._changed.notify_all()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.delay(0.0)
        for one in (self._listening, *self._open):
            _hang_up(one)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:  # closed
                return
            try:
                server = socket.create_connection(self._target)
            except OSError:  # nobody is there: as if nobody listened here
                client.close()
                continue
            self._open += [client, server]
            late: SimpleQueue[_Piece] = SimpleQueue()
            passed_on: Callable[[bytes], None] = _later(late)
            for part, how in (
                (_carry, (client, server.sendall, partial(_hang_up, server))),
                (_carry, (server, passed_on, partial(passed_on, b""))),
                (self._release, (late, client)),
            ):
                threading.Thread(target=part, args=how, daemon=True).start()

    def _release(self, late: SimpleQueue[_Piece], client: socket.socket) -> None:
        """Send what came, each piece at its time: several may be held at once."""
        while True:
            came, piece = late.get()
            with self._changed:
                while (left := came + self._late_s - time.monotonic()) > 0:
                    self._changed.wait(left)
            try:
                client.sendall(piece)
            except OSError:  # it has left
                return
            if not piece:
                _hang_up(client)
                return


def _later(late: SimpleQueue[_Piece]) -> Callable[[bytes], None]:
    return lambda piece: late.put((time.monotonic(), piece))


def _carry(source: socket.socket, pass_on: Callable[[bytes], object], left: Callable[[], None]) -> None:
    """Pass on what `source` sends, and say when it, or who it is for, has left."""
    try:
        while piece := source.recv(_CHUNK_BYTES):
            pass_on(piece)
    except OSError:  # as a client that was killed leaves
        pass
    left()


def _hang_up(one: socket.socket) -> None:
    with suppress(OSError):  # it has left
        one.shutdown(socket.SHUT_RDWR)
    one.close()
