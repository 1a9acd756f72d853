"""``make fuzz-frontier N=20000``: random calls to a real frontier whose linkscore is away.

Requests are of every call of the contract, with values at and beyond their bounds, fields of a megabyte, and
bytes that are no message. A finding is a status that says the fault is ours, a traceback or an error in the
log, and memory beyond `MOST_MB`.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from linkscore_frontier import urlfrontier_pb2 as pb
from support.frontier.process import PATIENCE_S, FrontierProcess, frontier

MOST_MB = 600
"""Memory of a frontier at most: 64 MiB of messages, five times over as objects, and caches of its files."""

NOWHERE = "127.0.0.1:1"
METHODS = list(pb.DESCRIPTOR.services_by_name["URLFrontier"].methods)
_OFTEN = {"PutURLs": 6, "PutDiscovered": 4, "GetURLs": 6, "ListURLs": 2, "DeleteCrawl": 0.2, "SetActive": 0.2}
_OURS = {
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.DATA_LOSS,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
}
_NUMBERS = (0, 1, 2, 3, 30, 1_000, 2**31 - 1, 2**31, 2**32 - 1)
_TEXTS = ("", "a.org", "http://a.org/", "DEFAULT", "é" * 70, "\x00", "../../x", "%", "'; DROP TABLE url", "[")


class Fuzz:
    """Random calls; everything follows from the seed."""

    def __init__(self, seed: int, target: str) -> None:
        self._rng = random.Random(seed)
        self._channel = grpc.insecure_channel(target, [("grpc.max_receive_message_length", -1)])
        self.answers: Counter[str] = Counter()

    def close(self) -> None:
        """End it."""
        self._channel.close()

    def call(self) -> str:
        """Make a call; return what is wrong with its answer, empty if nothing."""
        weights = [_OFTEN.get(method.name, 1) for method in METHODS]
        method = self._rng.choices(METHODS, weights)[0]
        requests = [self._request(method) for _ in range(self._rng.choice((1, 1, 2, 50)))]
        many = requests if method.name in ("PutURLs", "PutDiscovered") else requests[:1]
        stub = self._channel.stream_stream(f"/urlfrontier.URLFrontier/{method.name}")
        try:
            for _ in stub(iter(many), timeout=PATIENCE_S):
                pass
            code = grpc.StatusCode.OK
        except grpc.RpcError as error:
            code = error.code()
        self.answers[f"{method.name} {code.name}"] += 1
        return f"{method.name}: {code.name}" if code in _OURS else ""

    def _request(self, method: MethodDescriptor) -> bytes:
        if self._rng.random() < 0.03:
            return self._rng.randbytes(self._rng.choice((1, 10, 1_000)))
        message = GetMessageClass(method.input_type)()
        self._fill(message, deep=3)
        if method.name == "SetActive":
            message = pb.Active(state=True)  # else nothing is given any more
        return message.SerializeToString()

    def _fill(self, message: Message, deep: int) -> None:
        for field in message.DESCRIPTOR.fields:
            if self._rng.random() < 0.25 or (deep == 0 and field.type == FieldDescriptor.TYPE_MESSAGE):
                continue
            if field.message_type is not None and field.message_type.GetOptions().map_entry:
                for _ in range(self._rng.choice((0, 1, 3))):
                    getattr(message, field.name)[self._name()].values.append(self._text())
            elif field.is_repeated:
                for _ in range(self._rng.choice((0, 1, 3, 100))):
                    self._add(message, field, deep)
            elif field.type == FieldDescriptor.TYPE_MESSAGE:
                inner = getattr(message, field.name)
                inner.SetInParent()
                self._fill(inner, deep - 1)
            else:
                setattr(message, field.name, self._value(field))

    def _add(self, message: Message, field: Any, deep: int) -> None:
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            self._fill(getattr(message, field.name).add(), deep - 1)
        else:
            getattr(message, field.name).append(self._value(field))

    def _value(self, field: Any) -> Any:
        if field.type == FieldDescriptor.TYPE_STRING:
            return self._url() if field.name == "url" else self._text()
        if field.type == FieldDescriptor.TYPE_BOOL:
            return self._rng.random() < 0.5
        if field.type == FieldDescriptor.TYPE_ENUM:
            return self._rng.choice((0, 1, 4, 99))
        if field.type == FieldDescriptor.TYPE_UINT64:
            return self._rng.choice((*_NUMBERS, 2**63 - 1, 2**63, 2**64 - 1))
        return self._rng.choice(_NUMBERS)

    def _name(self) -> str:
        known = ("linkscore.bucket", "linkscore.score", "linkscore.value", "linkscore.ticket")
        return self._rng.choice((*known, "fetch.statusCode", "x"))

    def _url(self) -> str:
        if self._rng.random() < 0.2:
            return self._text()
        host, kind = self._rng.choice("abc"), self._rng.choice(("q", "t", "%"))
        return f"http://{host}.org/{kind}/{self._rng.randrange(500)}"

    def _text(self) -> str:
        if self._rng.random() < 0.02:
            return "x" * self._rng.choice((1_025, 40_000, 1_000_000))
        return self._rng.choice((*_TEXTS, str(self._rng.randrange(1_000)), "404", "nan", "-1e400"))


def findings(process: FrontierProcess, seed: int, calls: int) -> Iterator[str]:
    """Give what is wrong after so many calls."""
    fuzz = Fuzz(seed, process.target)
    try:
        for number in range(calls):
            if wrong := fuzz.call():
                yield f"call {number}: {wrong}"
    finally:
        fuzz.close()
    missing = {method.name for method in METHODS} - {answer.split()[0] for answer in fuzz.answers}
    if missing and calls > 40 * len(METHODS):
        yield f"never called: {missing}"
    log = process.log.read_text()
    if "Traceback" in log or '"level": "error"' in log:
        yield log[-3_000:]
    if (peak := peak_mb(process)) > MOST_MB:
        yield f"{peak} MB"


def peak_mb(process: FrontierProcess) -> int:
    """Return the most memory that a frontier took."""
    status = Path(f"/proc/{process.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1_024


def main() -> int:
    """Call, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        frontier(Path(folder), "--target", NOWHERE, "--max-crawls", "100") as process,
    ):
        found = list(findings(process, given.seed, given.calls))
        print(f"seed {given.seed}: {given.calls} calls, {peak_mb(process)} MB, {len(found)} findings")
        print("\n".join(found))
    return len(found) > 0


if __name__ == "__main__":
    sys.exit(main())
