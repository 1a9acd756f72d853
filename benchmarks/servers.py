"""Servers as child processes on loopback, and what they cost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from tempfile import TemporaryDirectory

import grpc

from linkscore.v1 import crawl_service_pb2, crawl_service_pb2_grpc, policy_pb2

_OPTIONS = [("grpc.max_receive_message_length", 64 << 20), ("grpc.max_send_message_length", 64 << 20)]
_CPU_CLOCK = 2


@dataclass(frozen=True, slots=True)
class Server:
    """A running server.

    Attributes
    ----------
    pid, address
        Its process, and where it listens.
    channel
        An open channel to it.
    """

    pid: int
    address: str
    channel: grpc.Channel

    def cpu_s(self) -> float:
        """Return the CPU seconds its process has used, all threads, user and system."""
        return time.clock_gettime((~self.pid << 3) | _CPU_CLOCK)  # clock_getcpuclockid(3) of another process


@contextmanager
def linkscore(*, native: bool = False, flags: Sequence[str] = ()) -> Iterator[Server]:
    """Run linkscore, durable, on a new data folder; pages are read by pure Python unless told otherwise."""
    if native and find_spec("linkscore_native") is None:
        raise SystemExit("the compiled reader is not installed: make native")
    with TemporaryDirectory(prefix="linkscore-bench-") as data:
        command = [
            "linkscore_cli",
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--metrics-listen",
            "",
            "--data-dir",
            data,
            "--log-level",
            "warning",
            *flags,
        ]
        with _running(command, LINKSCORE_NATIVE=str(int(native))) as server:
            yield server


@contextmanager
def bare() -> Iterator[Server]:
    """Run the bare server."""
    with _running(["benchmarks.bare_server"]) as server:
        yield server


def create_crawl(
    server: Server, name: str, policy: policy_pb2.PolicySpec | None = None, *, groups: int = 1
) -> str:
    """Create a crawl, of the default policy if none is given, and return its resource name."""
    crawl = crawl_service_pb2.Crawl(name=f"crawls/{name}", policy=policy, groups=groups)
    request = crawl_service_pb2.CreateCrawlRequest(crawl=crawl)
    crawl_service_pb2_grpc.CrawlServiceStub(server.channel).CreateCrawl(request)
    return f"crawls/{name}"


@contextmanager
def _running(module: Sequence[str], **more: str) -> Iterator[Server]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LINKSCORE_")}
    environment |= more
    command = [sys.executable, "-m", *module]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        with grpc.insecure_channel(address, options=_OPTIONS) as channel:
            yield Server(process.pid, address, channel)
    finally:
        process.terminate()
        process.communicate()
