"""``make fuzz-frontier N=20000``: random calls, as of `fuzz`, to a real frontier whose linkscore is away."""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from campaigns.fuzz import Fuzz, options
from linkscore_frontier import urlfrontier_pb2 as pb
from support.frontier.process import FrontierProcess, frontier

MOST_MB = 600
"""Memory of a frontier at most: 64 MiB of messages, five times over as objects, and caches of its files."""

NOWHERE = "127.0.0.1:1"
METHODS = list(pb.DESCRIPTOR.services_by_name["URLFrontier"].methods)
_OFTEN = {"PutURLs": 10, "GetURLs": 6, "ListURLs": 2, "DeleteCrawl": 0.2, "SetActive": 0.2}
_NUMBERS = (0, 1, 2, 3, 30, 1_000, 2**31 - 1, 2**31, 2**32 - 1)
_TEXTS = ("", "a.org", "http://a.org/", "DEFAULT", "é" * 70, "\x00", "../../x", "%", "'; DROP TABLE url", "[")


class Requests:
    """Requests of every call, with values at and beyond their bounds."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def __call__(self, method: MethodDescriptor) -> list[bytes]:
        """Return the requests of a call."""
        requests = [self._request(method) for _ in range(self._rng.choice((1, 1, 2, 50)))]
        return requests if method.client_streaming else requests[:1]

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


def findings(process: FrontierProcess, seed: int, calls: int) -> list[str]:
    """Return what is wrong after so many calls."""
    rng = random.Random(seed)
    fuzz = Fuzz(rng, process.target, METHODS, _OFTEN, Requests(rng))
    return list(fuzz.findings(process, calls, MOST_MB))


def main() -> int:
    """Call, and print what was found."""
    given = options(__doc__ or "")
    with (
        tempfile.TemporaryDirectory() as folder,
        frontier(Path(folder), "--target", NOWHERE, "--max-crawls", "100") as process,
    ):
        found = findings(process, given.seed, given.calls)
    print(*found, f"seed {given.seed}: {given.calls} calls, {len(found)} findings", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
