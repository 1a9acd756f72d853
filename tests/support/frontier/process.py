"""A real frontier in a process of its own, and a client of its contract."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from linkscore_frontier import urlfrontier_pb2 as pb
from linkscore_frontier import urlfrontier_pb2_grpc
from support.forked import Forked, command

PATIENCE_S = 60.0


class FrontierProcess:
    """`linkscore frontier` on a free port, with its URLs below `folder`."""

    def __init__(self, folder: Path, *flags: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "frontier.log"
        out = folder / "frontier.out"
        out.write_bytes(b"")
        given = (
            *("frontier", "--listen", "127.0.0.1:0", "--metrics-listen", "", "--data-dir", f"{folder}/data"),
            *flags,
        )
        self.process = Forked(command, given, out=out, log=self.log)
        self.process.start()
        while not (said := out.read_text()).endswith("\n"):
            if self.process.poll() is not None:
                raise AssertionError(self.log.read_text()[-3000:])
            time.sleep(0.02)
        self.target = said.split()[-1]

    def kill(self) -> None:
        """Send SIGKILL."""
        self.process.kill()
        self.stop()

    def stop(self) -> None:
        """End it, by SIGTERM if it still runs."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE_S)


@contextmanager
def frontier(folder: Path, *flags: str) -> Iterator[FrontierProcess]:
    """Run a frontier for as long as the context lasts."""
    process = FrontierProcess(folder, *flags)
    try:
        yield process
    finally:
        process.stop()


class Crawler:
    """What a crawler does with a frontier."""

    def __init__(self, target: str, credentials: Any = None) -> None:
        self.channel = (
            grpc.secure_channel(target, credentials) if credentials else grpc.insecure_channel(target)
        )
        self.stub = urlfrontier_pb2_grpc.URLFrontierStub(self.channel)

    def __enter__(self) -> Crawler:
        return self

    def __exit__(self, *_: object) -> None:
        self.channel.close()

    def put(self, *items: pb.URLItem) -> list[int]:
        """Put items; return their statuses in the order of the acknowledgements."""
        acks = self.stub.PutURLs(iter(items), timeout=PATIENCE_S)
        return [ack.status for ack in acks]

    def get(
        self, queues: int = 1, each: int = 1, lease_s: int = 60, crawl: str = "", **more: Any
    ) -> list[str]:
        """Get URLs."""
        request = pb.GetParams(
            max_queues=queues, max_urls_per_queue=each, delay_requestable=lease_s, crawlID=crawl, **more
        )
        found = self.stub.GetURLs(request, timeout=PATIENCE_S)
        return [info.url for info in found]

    def stats(self, key: str = "", crawl: str = "") -> pb.Stats:
        """Return what a queue or a crawl holds."""
        return self.stub.GetStats(pb.QueueWithinCrawlParams(key=key, crawlID=crawl))


def discovered(url: str, crawl: str = "", key: str = "", **metadata: str | Iterable[str]) -> pb.URLItem:
    """Return the item of a URL that was found; keywords are metadata of linkscore."""
    return pb.URLItem(discovered=pb.DiscoveredURLItem(info=info(url, crawl, key, **metadata)))


def known(
    url: str, due: int = 0, crawl: str = "", key: str = "", **metadata: str | Iterable[str]
) -> pb.URLItem:
    """Return the item of a URL that was fetched."""
    item = pb.KnownURLItem(info=info(url, crawl, key, **metadata), refetchable_from_date=due)
    return pb.URLItem(known=item)


def info(url: str, crawl: str, key: str, **metadata: str | Iterable[str]) -> pb.URLInfo:
    """Return a URL with metadata `linkscore.NAME`, and `status` as StormCrawler keeps it."""
    names = {name: "fetch.statusCode" if name == "status" else f"linkscore.{name}" for name in metadata}
    lists = {
        names[name]: pb.StringList(values=[texts] if isinstance(texts, str) else texts)
        for name, texts in metadata.items()
    }
    return pb.URLInfo(url=url, crawlID=crawl, key=key, metadata=lists)
