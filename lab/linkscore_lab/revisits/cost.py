"""What revisits add to the cost of an ingested page: ``python -m linkscore_lab.revisits cost WARC ...``.

Each page of an archive is read once and taken in by three crawls in turn, one of them without revisits, one
with and one that says how many fetches a day there may be; then all pages come again, a day later each time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linkscore_lab.archives import open_archive
from linkscore_lab.archives.record import ArchiveRecord
from linkscore_lab.revisits.replay import START_S
from linkscore_scoring.engine.companions import companion_named
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.features.html import extract
from linkscore_scoring.revisits.values import DAY_S
from linkscore_scoring.urls.identity import host_of, identity

_CRAWLS: dict[str, dict[str, Any]] = {
    "plain": {},
    "revisit": {"revisit": {}},
    "a day": {"revisit": {"fetches_per_day": 100.0}},
}
"""Settings by name. Any number of fetches a day costs the same."""


def main(argv: Sequence[str]) -> None:
    """Print the milliseconds of a page, and what each setting adds to reading and taking in."""
    parser = argparse.ArgumentParser(prog="python -m linkscore_lab.revisits cost", description=__doc__)
    parser.add_argument("archives", nargs="+", type=Path)
    parser.add_argument("--pages", type=int, default=300, help="of each archive, the first ones")
    parser.add_argument("--again", type=int, default=2, help="times that all pages come again")
    given = parser.parse_args(argv)
    print(f"{'site':20} {'pages':>6} {'read ms':>8} {'apply ms':>8} {'revisit':>8} {'a day':>8}")
    for path in given.archives:
        pages, read, took = measured(path, given.pages, given.again)
        whole = read + took["plain"]
        added = [f"{(took[name] - took['plain']) / whole:8.1%}" for name in ("revisit", "a day")]
        print(
            f"{path.name.split('.')[0]:20} {pages:6} {read / pages * 1e3:8.2f} "
            f"{took['plain'] / pages * 1e3:8.2f} {added[0]} {added[1]}",
            flush=True,
        )


def measured(path: Path, most: int, again: int) -> tuple[int, float, dict[str, float]]:
    """Return how many pages came, seconds to read them, and seconds to take them in by setting."""
    models = {
        name: CrawlModel(CrawlConfig("c", companions=companions), ticket_key=bytes(32))
        for name, companions in _CRAWLS.items()
    }
    companion_named("revisit")  # its modules are loaded once a process, not in the time of a page
    took, read, seq = dict.fromkeys(models, 0.0), 0.0, 0
    for visit in range(again + 1):
        pages = (each for each in open_archive([path]).records() if _is_page(each))
        for _, record in zip(range(most), pages, strict=False):
            seq += 1
            begun = time.thread_time()
            features = extract(record.body, url=record.url)
            read += time.thread_time() - begun
            now_s = START_S + visit * DAY_S + seq
            key = identity(record.url)
            event = PageFetched(str(seq), host_of(record.url), record.url, key, 200, "", b"", now_s, features)
            names = list(models)
            for name in names[seq % 3 :] + names[: seq % 3]:
                begun = time.thread_time()
                models[name].apply(seq, event)
                took[name] += time.thread_time() - begun
    return seq, read, took


def _is_page(record: ArchiveRecord) -> bool:
    return record.status == 200 and "html" in record.headers.get("Content-Type", "")
