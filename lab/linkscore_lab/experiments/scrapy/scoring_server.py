"""Start the scoring service in a process of its own, for a demonstration or a measurement."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import grpc

from linkscore_lab.experiments.scrapy.child import ChildFailed

#: Gives the address of a running service for as long as it is entered.
Service = Callable[[], AbstractContextManager[str]]


def running(address: str) -> Service:
    """Return a service somebody else runs at `address` (``host:port``)."""
    return lambda: nullcontext(address)


def own(log: Path, patience_s: float = 60.0) -> Service:
    """Return a service that is started on loopback when it is entered and ended when it is left.

    Raises, on entering, `ChildFailed` when it is not ready within `patience_s`. Its output goes to `log`.
    """
    return lambda: _start(log, patience_s)


def serve_command(port: int, data_dir: Path) -> list[str]:
    """Return the command that serves on a port of loopback and keeps its log in `data_dir`."""
    address = ["--listen", f"127.0.0.1:{port}", "--metrics-listen", ""]
    return [sys.executable, "-m", "linkscore_cli", "serve", *address, "--data-dir", str(data_dir)]


@contextmanager
def _start(log: Path, patience_s: float) -> Iterator[str]:
    port = _free_port()
    with TemporaryDirectory(prefix="linkscore-") as data, log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(  # noqa: S603 - our own module
            serve_command(port, Path(data)), stdout=output, stderr=output, stdin=subprocess.DEVNULL
        )
        try:
            _wait_ready(process, f"127.0.0.1:{port}", log, patience_s)
            yield f"127.0.0.1:{port}"
        finally:
            _stop(process)


def _wait_ready(process: subprocess.Popen[bytes], address: str, log: Path, patience_s: float) -> None:
    with grpc.insecure_channel(address) as channel:
        ready = grpc.channel_ready_future(channel)
        for _ in range(max(1, int(patience_s / 0.5))):
            try:
                ready.result(timeout=0.5)
                return
            except grpc.FutureTimeoutError:
                if process.poll() is not None:
                    break
        ready.cancel()
    raise ChildFailed(f"the scoring service did not start: {log.read_text(encoding='utf-8')[-2000:]}")


def _stop(process: subprocess.Popen[bytes], patience_s: float = 15.0) -> None:
    process.terminate()
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
