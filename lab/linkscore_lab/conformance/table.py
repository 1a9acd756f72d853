"""Scenarios written as data, `scenarios.json`: what the server is told, what is called, what was seen.

A step is one of these. Expected objects need have no more than the fields that are named (null: the field is
not set), lists have exactly the elements; bytes of messages are base64.

=======  ===================================================================================================
connect  options of the connection; a new server in plain text is started
script   a method, and its next step: `fail` (a code, `times` over), `status` (google.rpc.Status) or `answer`
call     of the driver, `with` arguments: `gives` (part of the answer), or `fails` (codes) and `error` (parts)
seen     a method, and of its calls: `times`, `requests`, `messages` (of a stream), `metadata` (`*` at the
         end: any rest), `deadline_s` (null: none, or hours), `distinct` (values by path, none of them empty)
=======  ===================================================================================================
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.json_format import MessageToDict, ParseDict
from google.rpc import error_details_pb2, status_pb2

from linkscore_lab.conformance.fake import Fail, FakeServer, Step, answer_type
from linkscore_lab.conformance.trial import SCENARIOS, Trial, holds

# What `Any` of a status may hold is known by this import.
assert error_details_pb2.DESCRIPTOR
# Time on the wire of a call that is answered at once, on a machine that has other work.
_SLACK_S = 2.0
_HOUR_S = 3_600  # seconds


def add_scenarios(file: Path) -> None:
    """Add the scenarios of a file to `SCENARIOS`."""
    for row in json.loads(file.read_text(encoding="utf-8")):

        def play(trial: Trial, steps: list[dict[str, Any]] = row["steps"]) -> None:
            server: Any = None
            for step in steps:
                server = _play(trial, server, step)

        play.__doc__ = row["says"]
        SCENARIOS[row["name"]] = play


def _play(trial: Trial, server: Any, step: dict[str, Any]) -> FakeServer:
    """Carry out a step; returns the server of the next."""
    if "connect" in step:
        return trial.connected(**step["connect"])
    if "script" in step:
        server.script(step["script"], *[_scripted(step)] * step.get("times", 1))
    elif "call" in step:
        _call(trial, step)
    else:
        _seen(server, step)
    made: FakeServer = server
    return made


def _scripted(step: dict[str, Any]) -> Step:
    if "answer" in step:
        return ParseDict(step["answer"], answer_type(step["script"])())
    if "status" in step:
        status = ParseDict(step["status"], status_pb2.Status())
        code = next(code for code in grpc.StatusCode if code.value[0] == status.code)
        return Fail(code, status.message, raw_details=status.SerializeToString())
    raw = step.get("raw_details", "").encode("latin-1")
    return Fail(grpc.StatusCode[step["fail"]], raw_details=raw)


def _call(trial: Trial, step: dict[str, Any]) -> None:
    arguments = step.get("with", {})
    if "fails" not in step:
        _fits(step["call"], trial.call(step["call"], **arguments), step.get("gives", {}))
        return
    error = trial.fails(step["call"], *(grpc.StatusCode[name] for name in step["fails"]), **arguments)
    _fits(f"error of {step['call']}", vars(error), step.get("error", {}))


def _seen(server: FakeServer, step: dict[str, Any]) -> None:
    method = step["seen"]
    calls = server.seen(method)
    requests = [_plain(call.request) for call in calls]
    messages = [_plain(message) for call in calls for message in call.messages]
    if "times" in step:
        holds(len(calls) == step["times"], f"{method} came {len(calls)} times, not {step['times']}")
    for name, got in (("requests", requests), ("messages", messages)):
        if name in step:
            _fits(f"{name} of {method}", got, step[name])
    for call in calls:
        for key, wanted in step.get("metadata", {}).items():
            _fits(f"{key} of {method}", call.metadata.get(key), wanted)
        if "deadline_s" in step:
            _deadline(method, call.deadline_s, step["deadline_s"])
    for path, n in step.get("distinct", {}).items():
        values = [value for message in messages or requests for value in _at(message, path.split("."))]
        holds(all(values) and len(set(values)) == n, f"{path} of {method}: {values}, expected {n} different")


def _deadline(method: str, left_s: float | None, wanted_s: float | None) -> None:
    left_s = math.inf if left_s is None else left_s
    fits = left_s > _HOUR_S if wanted_s is None else wanted_s - _SLACK_S < left_s <= wanted_s + 0.1
    holds(fits, f"{method} had {left_s:.1f} s left, expected {wanted_s}")


def _plain(message: Any) -> dict[str, Any]:
    plain: dict[str, Any] = MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return plain


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
        holds(len(got) == len(wanted), f"{what}: {got!r}, expected {len(wanted)}")
        for n, (one, other) in enumerate(zip(got, wanted, strict=True)):
            _fits(f"{what}, {n}", one, other)
    elif isinstance(wanted, str) and wanted.endswith("*"):
        holds(str(got).startswith(wanted[:-1]), f"{what}: {got!r}, expected {wanted!r}")
    else:
        holds(got == wanted, f"{what}: {got!r}, expected {wanted!r}")
