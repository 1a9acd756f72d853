"""``make fuzz N=20000``: random calls of every RPC to a real server, broken messages too.

All requests follow from a seed, which is printed with what was found: a status that says the fault is ours,
an error in the log, a number that is none, memory beyond `MOST_MB`.
"""

from __future__ import annotations

import argparse
import math
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import grpc
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from campaigns.messages import Messages
from linkscore.v1 import (
    browse_log_service_pb2,
    crawl_service_pb2,
    inspection_service_pb2,
    link_scoring_service_pb2,
    site_model_service_pb2,
)
from support.server_process import PATIENCE_S, serving, stubs
from support.small_site import HOST, url_of

MOST_MB = 1_500
"""Memory of a server at most: three times what it takes for three crawls of a small site."""
CRAWLS = ("crawls/a", "crawls/b", "crawls/c")
_OURS = {
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.DATA_LOSS,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
}
_FILES = (
    *(browse_log_service_pb2, crawl_service_pb2, inspection_service_pb2),
    *(link_scoring_service_pb2, site_model_service_pb2),
)
METHODS = [
    method
    for file in _FILES
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]
URLS = tuple(map(url_of, range(60)))
_LIKELY = {
    "crawl": (*CRAWLS, *CRAWLS, "crawls/d", "crawls/A B"),
    "Crawl.name": (*CRAWLS, "crawls/d", "crawls/e"),
    "GetCrawlRequest.name": (*CRAWLS, "crawls/nothing"),
    "DeleteCrawlRequest.name": ("crawls/d", "crawls/e", "crawls/f"),
    "name": tuple(f"{crawl}/sites/{HOST}" for crawl in CRAWLS),
    "site": (HOST, "h", "xn--fiq228c.test"),
    "hosts": (HOST,),
    **dict.fromkeys(
        ("url", "final_url", "referrer", "NotifyChangedRequest.urls"), tuple(map(url_of, range(60)))
    ),
    "texts": ("visitor", *URLS[:5]),
    "client_id": ("visitor", "x"),
    **dict.fromkeys(("event_id", "batch_id"), tuple(f"e{n}" for n in range(300))),
    "content_type": ("text/html", "", "text/html; charset=utf-16", "application/pdf", "TEXT/HTML;;="),
    "content_encoding": ("", "", "gzip", "br"),
    **dict.fromkeys(("tag_path", "tag_paths"), ("html/body/a", "html/body/div[nav]/a[home]", "///")),
    "status_code": (0, 200, 200, 200, 200, 301, 404, 500),
    "epoch_ms": tuple(1_700_000_000_000 + n * 10**7 for n in range(50)),
    **dict.fromkeys(("clients", "urls", "referrers"), (0, 1, 2, 3)),
    "paths": ("policy", "examples", "observe_only", "seed", "x"),
}
_SAME = {
    "ticket_values": "ticket",
    "bucket_names": "bucket",
    "buckets": "bucket",
    "urls": "url",
    "cluster": "template",
    "next_page_token": "page_token",
}
_RARE = frozenset({"policy", "outlinks", "fetch_error", "final_url", "examples"})
_OFTEN = {"IngestPages": 6.0, "ReportFeedback": 6.0, "ScoreLinks": 6.0, "MineSite": 0.02}


class Process(Protocol):
    """What is called: `target` is its address, `log` its error log."""

    target: str
    log: Path
    process: subprocess.Popen[bytes]


class Fuzz:
    """Random calls.

    Parameters
    ----------
    rng
        Decides everything.
    target
        Of the server.
    methods, often
        What is called, and how much oftener than others some are.
    requests
        Makes the bytes of the requests of a call.
    learn
        Takes each answer, for later requests.
    """

    def __init__(
        self,
        rng: random.Random,
        target: str,
        methods: Sequence[MethodDescriptor],
        often: dict[str, float],
        requests: Callable[[MethodDescriptor], list[bytes]],
        learn: Callable[[Message], object] = lambda answer: None,
    ) -> None:
        self._rng, self._requests, self._learn = rng, requests, learn
        self._methods, self._weights = methods, [often.get(method.name, 1.0) for method in methods]
        self._channel = grpc.insecure_channel(target, [("grpc.max_receive_message_length", -1)])
        self.answers: Counter[str] = Counter()

    def call(self) -> str:
        """Make a call; return what is wrong with its answer, empty if nothing."""
        (method,) = self._rng.choices(self._methods, self._weights)
        stub = self._channel.stream_stream(f"/{method.containing_service.full_name}/{method.name}")
        wrong, code = "", grpc.StatusCode.OK
        try:
            for raw in stub(iter(self._requests(method)), timeout=PATIENCE_S):
                answer = GetMessageClass(method.output_type)()
                answer.ParseFromString(raw)
                wrong = wrong or next(_no_numbers(answer, method.name), "")
                self._learn(answer)
        except grpc.RpcError as error:
            code = error.code()
        self.answers[f"{method.name} {code.name}"] += 1
        return f"{method.name}: {code.name}" if code in _OURS else wrong

    def findings(self, process: Process, calls: int, most_mb: float) -> Iterator[str]:
        """Give what is wrong with as many calls, and with the process after them."""
        with self._channel:
            for number in range(calls):
                if wrong := self.call():
                    yield f"call {number}: {wrong}"
        missing = {method.name for method in self._methods} - {name.split()[0] for name in self.answers}
        if missing and calls > 100 * len(self._methods):
            yield f"never called: {missing}"
        log = process.log.read_text()
        if "Traceback" in log or '"level": "error"' in log:
            yield log[-3_000:]
        status = Path(f"/proc/{process.process.pid}/status").read_text()
        if (peak := int(status.partition("VmHWM:")[2].split()[0]) // 1_024) > most_mb:
            yield f"{peak} MB"


def _no_numbers(message: Message, place: str) -> Iterator[str]:
    """Yield the places of a message that hold NaN, or say that the server failed at an item."""
    for field, value in message.ListFields():
        where, values = f"{place}.{field.name}", value if field.is_repeated else [value]
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            continue
        for each in values:
            if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
                yield from _no_numbers(each, where)
            elif isinstance(each, float) and math.isnan(each):
                yield f"{where} is no number"
            elif isinstance(each, str) and each.startswith("internal error"):
                yield f"{where}: {each}"


def findings(process: Process, seed: int, calls: int) -> list[str]:
    """Create three crawls, make as many calls, and return what is wrong."""
    rng = random.Random(seed)
    messages = Messages(rng, _LIKELY, _SAME, _RARE)
    with stubs(process.target) as server:
        for name in CRAWLS:
            learning = crawl_service_pb2.LearningConfig(sample_pages=12)
            crawl = crawl_service_pb2.Crawl(name=name, learning=learning)
            server.crawls.CreateCrawl(crawl_service_pb2.CreateCrawlRequest(crawl=crawl))
    fuzz = Fuzz(rng, process.target, METHODS, _OFTEN, messages.requests, messages.learn)
    return list(fuzz.findings(process, calls, MOST_MB))


def options(doc: str) -> Any:
    """Return seed and calls from the command line."""
    parser = argparse.ArgumentParser(description=doc.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main() -> int:
    """Call, and print what was found."""
    given = options(__doc__ or "")
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as process:
        found = findings(process, given.seed, given.calls)
    print(*found, f"seed {given.seed}: {given.calls} calls, {len(found)} findings", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
