"""A real server in a process of its own, for black-box tests."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from linkscore.v1 import (
    browse_log_service_pb2_grpc,
    crawl_service_pb2_grpc,
    inspection_service_pb2_grpc,
    link_scoring_service_pb2_grpc,
    site_model_service_pb2_grpc,
)
from support.forked import Forked, command

PATIENCE_S = 60.0
# Limits are set by a process of their own: Python code between fork and exec does not go with gRPC's threads.
_LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
os.execv(sys.argv[2], sys.argv[2:])
"""


class ServerProcess:
    """`linkscore serve` on a free port; output goes to `folder`. `within` is a command that runs commands."""

    def __init__(
        self,
        folder: Path,
        *flags: str,
        max_file_bytes: int = 0,
        patience_s: float = PATIENCE_S,
        within: Sequence[str] = (),
        **environment: str,
    ) -> None:
        self.patience_s = patience_s
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "server.log"
        given = [
            *("serve", "--listen", "127.0.0.1:0", "--metrics-listen", "", "--data-dir", f"{folder}/data"),
            *flags,
        ]
        self._out = folder / "server.out"
        self._out.write_bytes(b"")
        self.process: Forked | subprocess.Popen[bytes]
        # What was written is opened by a new interpreter: one that is forked orders sets as the one before.
        if max_file_bytes or within or environment or (folder / "data").exists():
            start = [sys.executable, "-m", "linkscore_cli", *given]
            if max_file_bytes:
                start = [sys.executable, "-c", _LIMITED, str(max_file_bytes), *start]
            with self.log.open("ab") as log, self._out.open("ab") as out:
                self.process = subprocess.Popen(
                    [*within, *start],
                    stdout=out,
                    stderr=log,
                    stdin=subprocess.DEVNULL,
                    env={name: os.environ[name] for name in os.environ if not name.startswith("LINKSCORE_")}
                    | environment,
                )
        else:
            self.process = Forked(command, given, out=self._out, log=self.log)
            self.process.start()
        self.target = self._address()

    def _address(self) -> str:
        """Wait for the line that says where the server listens."""
        until = time.monotonic() + self.patience_s
        is_there = True
        while is_there and time.monotonic() < until:
            is_there = self.process.poll() is None
            if found := re.search(r"linkscore serving on (\S+)\n", self._out.read_text()):
                return found[1]
            time.sleep(0.02)
        self.kill()
        raise AssertionError(f"the server did not start: {self.log.read_text()[-3000:]}")

    def records(self) -> list[dict[str, Any]]:
        """Return the log, one record a line."""
        whole, _, _ = self.log.read_text().rpartition("\n")  # the last line may be half written
        return [json.loads(line) for line in whole.splitlines()]

    def peak_bytes(self) -> int:
        """Return the most memory that the process ever had."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    def terminate(self) -> int:
        """Send SIGTERM and return the exit code."""
        self.process.terminate()
        return self.process.wait(PATIENCE_S)

    def kill(self) -> int:
        """Send SIGKILL and return the exit code."""
        self.process.kill()
        return self.process.wait(PATIENCE_S)

    def stop(self) -> None:
        """End the process if it still runs."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(self.patience_s)
        except subprocess.TimeoutExpired:
            self.kill()


def workers_of(process: ServerProcess) -> list[int]:
    """Return the processes of the workers, by the number of the worker."""
    told = re.compile(r"worker (\d+) serves, process (\d+)")
    said = (told.fullmatch(line["message"]) for line in process.records())
    by_number = {int(found[1]): int(found[2]) for found in said if found}
    return [by_number[number] for number in sorted(by_number)]


@contextlib.contextmanager
def serving(folder: Path, *flags: str, **options: Any) -> Iterator[ServerProcess]:
    """Run a server for as long as the context lasts."""
    server = ServerProcess(folder, *flags, **options)
    try:
        yield server
    finally:
        server.stop()


class Stubs:
    """Stubs of all services on one channel."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.channel = channel
        self.browse = browse_log_service_pb2_grpc.BrowseLogServiceStub(channel)
        self.crawls = crawl_service_pb2_grpc.CrawlServiceStub(channel)
        self.links = link_scoring_service_pb2_grpc.LinkScoringServiceStub(channel)
        self.inspection = inspection_service_pb2_grpc.InspectionServiceStub(channel)
        self.sites = site_model_service_pb2_grpc.SiteModelServiceStub(channel)


@contextlib.contextmanager
def stubs(target: str, **options: int) -> Iterator[Stubs]:
    """Connect; `options` are gRPC channel options without their prefix `grpc.`."""
    sizes = {"max_receive_message_length": -1, "max_send_message_length": -1}
    named = [(f"grpc.{name}", value) for name, value in (sizes | options).items()]
    with grpc.insecure_channel(target, named) as channel:
        yield Stubs(channel)


class Refusal:
    """What a failed call told the client."""

    def __init__(self, error: grpc.RpcError) -> None:
        self.code: grpc.StatusCode = error.code()
        self.message: str = error.details()
        self.reason = self.domain = ""
        self.violations: dict[str, error_details_pb2.BadRequest.FieldViolation] = {}
        self.retry_s: float | None = None
        status = rpc_status.from_call(error)
        for detail in status.details if status else ():
            self._take(detail)

    def _take(self, detail: Any) -> None:
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        retry = error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            self.reason, self.domain = info.reason, info.domain
        elif detail.Unpack(bad):
            self.violations = {v.field: v for v in bad.field_violations}
        elif detail.Unpack(retry):
            self.retry_s = retry.retry_delay.ToTimedelta().total_seconds()


def refusal(call: Callable[[], Any]) -> Refusal:
    """Make a call that must fail and return what it told."""
    try:
        got = call()
    except grpc.RpcError as error:
        return Refusal(error)
    raise AssertionError(f"the call did not fail but answered {got}")


def scrape(address: str) -> str:
    """Return what a Prometheus port says."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=PATIENCE_S) as answer:
        text: str = answer.read().decode()
    return text
