"""What every client must do, whatever its language: scenarios played against a scripted server.

``python -m linkscore_lab.conformance COMMAND`` starts a *driver*, a small program that has the client, and
plays every scenario of `scenarios.json` with it. The server (`fake`) answers as told and keeps what it was
asked. The driver reads one JSON object a line and answers with one.

A command has `call`, the arguments of that call, and perhaps `timeout_ms` (deadline of this call alone) or
`cancel_after_ms` (give it up after so long). An answer is ``{"ok": {...}}`` or ``{"error": {...}}``:

==============  ==================================================  =========================================
`call`          arguments                                           `ok`
==============  ==================================================  =========================================
connect         target; token, token_file, timeout_ms; ca, cert,    {}, without asking the server; what was
                key (paths of PEM files: TLS)                       connected before is closed
ensure          crawl; policy (a name)                              {}
ingest          crawl, pages: url, final_url, status, body,         links: a list for each page, of url,
                body_bytes (make a body of so many), ticket         score, bucket, value, ticket, usable,
                                                                    in_scope
failed          crawl, url, status, error, ticket                   {}
rank            crawl, buckets                                      values, by bucket
reward          crawl, url, ticket, worth                           {}
close           -                                                   {}
==============  ==================================================  =========================================

What is left out is left to the client. Tickets are written as base64url without padding. An error has `code`
(the number of the gRPC status), `reason`, `retry_after_ms`, `violations` (field, description) and `metadata`.

Scenarios are data, `scenarios.json`. A step of one is one of these. Expected objects need have no more than
the fields that are named (null: the field is not set), lists have exactly the elements; bytes of messages are
base64. ``$/`` is a folder of the scenario.

=======  ===================================================================================================
connect  options of the connection; a new server is started: plain, with `tls` ("server", or "both": it wants
         a certificate of the client too), behind a `relay`; or `again`, to the same one
script   a method, and its next step: `fail` (a code, `times` over), `status` (google.rpc.Status), `hang`,
         `answer`, or `bytes` (an answer of so many, in the name of a template)
call     of the driver, `with` arguments: `gives` (part of the answer), or `fails` (codes) and `error`
         (parts); `within_s` it ends, `until_s` it is tried again
seen     a method, and of its calls: `times`, `requests`, `metadata` (`*` at the end: any rest), `deadline_s`
         (null: none, or hours), `distinct` (values by path, none of them empty), `bytes` (each has at least
         so many), `ended` (the server is told that they were given up)
file     a name in the folder, and its `text`
certify  a folder in the folder: an authority, and certificates it signed
do       `stop` the server, have it `back`, `silence` the relay, `wait` for longer than a call may take
=======  ===================================================================================================
"""

from __future__ import annotations

import json
import math
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.json_format import MessageToDict, ParseDict
from google.rpc import error_details_pb2, status_pb2

from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2
from linkscore_lab.conformance.fake import HANG, Fail, FakeServer, Relay, answer_type

# What `Any` of a status may hold is known by this import.
assert error_details_pb2.DESCRIPTOR
# Beyond every deadline of the scenarios, retries and start-up of a virtual machine included.
_ANSWER_WITHIN_S = 90.0
# A driver whose standard input ended has nothing left to do: chosen, many times what any took.
_LEAVE_WITHIN_S = 10.0
# Time on the wire of a call that is answered at once, on a machine that has other work.
_SLACK_S = 2.0
_HOUR_S = 3_600  # seconds of an hour, by definition: a deadline that no scenario reaches
# One may be a scenario's doing; after so many the driver is what is wrong.
_ENOUGH_BREAKS = 3
Step = dict[str, Any]
SCENARIOS: dict[str, dict[str, Any]] = {
    row["name"]: row
    for row in json.loads(Path(__file__).with_name("scenarios.json").read_text(encoding="utf-8"))
}
"""By name, in the order they are played: `says` what must hold, and `steps`."""


class DriverBroken(Exception):
    """The driver ended, said something that is not an answer, or said nothing for too long."""


class CallFailed(Exception):
    """The client raised an error; its parts as the driver gave them."""


class Unmet(Exception):
    """A client did not do what a scenario asks."""


class Driver:
    """A running driver: one JSON object a line to its standard input, one a line back."""

    def __init__(self, command: Sequence[str]) -> None:
        try:
            self._process = subprocess.Popen(  # noqa: S603 - what the caller asks to start
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
        except OSError as exc:
            raise DriverBroken(f"cannot start {command[0]}: {exc}") from exc
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def leave(self) -> None:
        """Close its input, the sign to leave, and see that it does."""
        assert self._process.stdin is not None
        with suppress(OSError):  # of one that has left already
            self._process.stdin.close()
        try:
            self._process.wait(_LEAVE_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(_LEAVE_WITHIN_S)

    def call(self, call: str, **arguments: Any) -> dict[str, Any]:
        """Have the client make a call; raises `CallFailed` if it raised."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"call": call, **arguments}) + "\n")
            self._process.stdin.flush()
            said = json.loads(self._lines.get(timeout=_ANSWER_WITHIN_S))
        except queue.Empty:
            raise DriverBroken(f"no answer to {call} within {_ANSWER_WITHIN_S:.0f} s") from None
        except (OSError, ValueError) as exc:
            raise DriverBroken(f"no JSON answer to {call}, the driver may have ended: {exc}") from exc
        if "error" in said:
            raise CallFailed(said["error"])
        answer: dict[str, Any] = said["ok"]
        return answer

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as said:
            for line in said:
                self._lines.put(line)
        self._lines.put("")


@dataclass(frozen=True)
class Outcome:
    """How a scenario ended: what the client did wrong, empty if nothing, and seconds."""

    scenario: str
    complaint: str
    took_s: float


def play(command: Sequence[str], names: tuple[str, ...] = ()) -> Iterator[Outcome]:
    """Start a driver and play scenarios with it, all of them unless some are named.

    A driver that breaks is started anew for the next scenario; one that breaks again and again is not.
    """
    with ExitStack() as running:
        driver: Driver | None = None
        breaks = 0
        for name in names or SCENARIOS:
            began, complaint = time.monotonic(), ""
            if breaks >= _ENOUGH_BREAKS:
                yield Outcome(name, "not played: the driver broke too often", 0.0)
                continue
            try:
                if driver is None:
                    driver = Driver(command)
                    running.callback(driver.leave)
                with ExitStack() as cleanup:
                    trial = _Trial(driver, cleanup)
                    for step in SCENARIOS[name]["steps"]:  # the first key of a step says what it is
                        getattr(trial, f"_{next(iter(step))}")(step)
                    driver.call("close")
            except Unmet as exc:
                complaint = str(exc)
            except LookupError as exc:
                complaint = f"a call or a part of an answer is missing: {exc!r}"
            except (CallFailed, DriverBroken) as exc:
                complaint, driver, breaks = str(exc), None, breaks + 1
            yield Outcome(name, complaint, time.monotonic() - began)


class _Trial:
    """A scenario being played: a driver, and servers that end with it."""

    def __init__(self, driver: Driver, cleanup: ExitStack) -> None:
        self._driver, self._cleanup = driver, cleanup
        self._folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory()))
        self._server: Any = None
        self._relay: Any = None

    def _connect(self, step: Step) -> None:
        if not step.get("again"):
            names = {"server": ("server",), "both": ("server", "ca")}.get(step.get("tls", ""), ())
            tls = [self._folder / f"{name}.pem" for name in names]
            self._server = self._cleanup.enter_context(FakeServer(tls=tls))
        target = f"localhost:{self._server.port}"
        if step.get("relay"):
            self._relay = self._cleanup.enter_context(Relay(self._server.port))
            target = f"localhost:{self._relay.port}"
        options = {
            name: str(self._folder / value[2:]) if str(value).startswith("$/") else value
            for name, value in step["connect"].items()
        }
        try:
            self._driver.call("connect", target=target, **options)
        except CallFailed as exc:
            raise Unmet(f"connect failed: {exc}") from exc

    def _file(self, step: Step) -> None:
        (self._folder / step["file"]).write_text(step["text"], encoding="utf-8")

    def _certify(self, step: Step) -> None:
        make_certificates(self._folder / step["certify"])

    def _do(self, step: Step) -> None:
        if step["do"] == "stop":
            self._server.stop()
        elif step["do"] == "back":
            self._server = self._cleanup.enter_context(FakeServer(port=self._server.port))
        elif step["do"] == "silence":
            self._relay.silence()
        else:
            time.sleep(_SLACK_S + 0.5)

    def _script(self, step: Step) -> None:
        made: Any = HANG
        if "answer" in step:
            made = ParseDict(step["answer"], answer_type(step["script"])())
        elif "bytes" in step:
            links = common_pb2.LinkScores(urls=["http://a.test/1"], scores=[0.5])
            result = scoring_pb2.PageResult(links=links, cluster="c" * step["bytes"])
            made = scoring_pb2.IngestPagesResponse(results=[result])
        elif "status" in step:
            status = ParseDict(step["status"], status_pb2.Status())
            code = next(code for code in grpc.StatusCode if code.value[0] == status.code)
            made = Fail(code, status.message, status.SerializeToString())
        elif "fail" in step:
            details = step.get("raw_details", "").encode("latin-1")
            made = Fail(grpc.StatusCode[step["fail"]], raw_details=details)
        self._server.script(step["script"], *[made] * step.get("times", 1))

    def _call(self, step: Step) -> None:
        call, arguments, began = step["call"], {"crawl": "x", **step.get("with", {})}, time.monotonic()
        wanted = [grpc.StatusCode[name].value[0] for name in step.get("fails", ())]
        while True:
            try:
                answer = self._driver.call(call, **arguments)
            except CallFailed as exc:
                if time.monotonic() - began < step.get("until_s", 0):
                    continue
                error = {"reason": "", "retry_after_ms": 0, "violations": [], "metadata": {}} | exc.args[0]
                if error.get("code") not in wanted:
                    raise Unmet(f"{call} failed, {step.get('fails', 'which it must not')}: {exc}") from exc
                _fits(f"error of {call}", error, step.get("error", {}))
            else:
                _holds(not wanted, f"{call} was answered ({answer}), it had to fail: {step.get('fails')}")
                _fits(call, answer, step.get("gives", {}))
            break
        took = time.monotonic() - began
        _holds(took < step.get("within_s", math.inf), f"{call} took {took:.1f} s, not {step.get('within_s')}")

    def _seen(self, step: Step) -> None:
        method = step["seen"]
        calls = self._server.seen(method)
        sent = [
            MessageToDict(
                call.request, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
            )
            for call in calls
        ]
        if "times" in step:
            _holds(len(calls) == step["times"], f"{method} came {len(calls)} times, not {step['times']}")
        if "requests" in step:
            _fits(f"requests of {method}", sent, step["requests"])
        for call in calls:
            for key, wanted in step.get("metadata", {}).items():
                _fits(f"{key} of {method}", call.metadata.get(key), wanted)
            if "deadline_s" in step:
                _deadline(method, call.deadline_s, step["deadline_s"])
            if "ended" in step:
                _holds(call.ended.wait(_SLACK_S), f"the server was not told that {method} was given up")
            size = call.request.ByteSize()
            _holds(size >= step.get("bytes", 0), f"{method} has {size} bytes")
        for path, n in step.get("distinct", {}).items():
            values = [value for message in sent for value in _at(message, path.split("."))]
            _holds(
                all(values) and len(set(values)) == n, f"{path} of {method}: {values}, expected {n} different"
            )


def _holds(condition: bool, complaint: str) -> None:
    if not condition:
        raise Unmet(complaint)


def _deadline(method: str, left_s: float | None, wanted_s: float | None) -> None:
    left_s = math.inf if left_s is None else left_s
    fits = left_s > _HOUR_S if wanted_s is None else wanted_s - _SLACK_S < left_s <= wanted_s + 0.1
    _holds(fits, f"{method} had {left_s:.1f} s left, expected {wanted_s}")


def _at(value: Any, path: list[str]) -> Iterator[Any]:
    """Yield what is at a path, in all elements of lists on the way."""
    if isinstance(value, list):
        for each in value:
            yield from _at(each, path)
    elif path:
        yield from _at(value.get(path[0], ""), path[1:])
    else:
        yield value


def _fits(what: str, got: Any, wanted: Any) -> None:
    """Check that what came has all that is wanted."""
    if isinstance(wanted, Mapping) and isinstance(got, Mapping):
        for key, value in wanted.items():
            _fits(f"{key} of {what}", got.get(key), value)
    elif isinstance(wanted, list) and isinstance(got, list):
        _holds(len(got) == len(wanted), f"{what}: {got!r}, expected {len(wanted)}")
        for n, (one, other) in enumerate(zip(got, wanted, strict=True)):
            _fits(f"{what}, {n}", one, other)
    elif isinstance(wanted, str) and wanted.endswith("*"):
        _holds(str(got).startswith(wanted[:-1]), f"{what}: {got!r}, expected {wanted!r}")
    else:
        _holds(got == wanted, f"{what}: {got!r}, expected {wanted!r}")


_NEW_KEY = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
# Longer than any run, short enough that nobody is tempted to use them elsewhere.
_DAYS = ("-days", "2")


def make_certificates(folder: Path) -> Path:
    """Write `ca.pem`, and `server.pem` and `client.pem` signed by it, each beside its `.key`, by `openssl`.

    Returns the folder, which is made. The certificates hold for localhost and 127.0.0.1.
    """

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)  # noqa: S603, S607

    folder.mkdir(parents=True, exist_ok=True)
    openssl(*_NEW_KEY, *_DAYS, "-x509", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    for name in ("server", "client"):
        openssl(*_NEW_KEY, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        sign = ("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial")
        openssl(*sign, *_DAYS, "-extfile", "names", "-out", f"{name}.pem")
    return folder
