"""What revisits add to the cost of an ingested page: ``python -m linkscore_research.revisits cost WARC ...``.

Each page of an archive is read once and taken in by three crawls in turn, one of them without revisits, one
with and one that says how many fetches a day there may be; then all pages come again, a day later each time.
Of each there are several alike, of which the least time of a page counts: others use the processor too. What
revisits read of a page counts for those that have them.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any

from linkscore_lab.archives import ArchiveRecord, open_archive
from linkscore_research.revisits.replay import START_S
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.engine.limits import SentPage
from linkscore_scoring.features.html import extract
from linkscore_scoring.revisits.revisitor import SiteRevisitor
from linkscore_scoring.revisits.values import DAY_S
from linkscore_scoring.urls.identity import host_of, identity

_CRAWLS: dict[str, dict[str, Any] | None] = {
    "plain": None,
    "revisit": {},
    "a day": {"fetches_per_day": 100.0},
}
"""Settings by name. Any number of fetches a day costs the same."""


def main(argv: Sequence[str]) -> None:
    """Print the milliseconds of a page, and what each setting adds to reading and taking in."""
    parser = argparse.ArgumentParser(prog="python -m linkscore_research.revisits cost", description=__doc__)
    parser.add_argument("archives", nargs="+", type=Path)
    parser.add_argument("--pages", type=int, default=300, help="of each archive, the first ones")
    parser.add_argument("--draws", type=int, default=5, help="crawls alike")
    parser.add_argument("--again", type=int, default=2, help="times that all pages come again")
    given = parser.parse_args(argv)
    print(f"{'site':20} {'pages':>6} {'read ms':>8} {'apply ms':>8} {'revisit':>8} {'a day':>8}")
    for path in given.archives:
        pages, read, took = measured(path, given.pages, given.again, given.draws)
        whole = read + took["plain"]
        added = [f"{(took[name] - took['plain']) / whole:8.1%}" for name in ("revisit", "a day")]
        print(
            f"{path.name.split('.')[0]:20} {pages:6} {read / pages * 1e3:8.2f} "
            f"{took['plain'] / pages * 1e3:8.2f} {added[0]} {added[1]}",
            flush=True,
        )


def measured(path: Path, most: int, again: int, draws: int) -> tuple[int, float, dict[str, float]]:
    """Return how many pages came, seconds to read them, and seconds to take them in by setting."""
    models = {
        name: [CrawlModel(CrawlConfig("c", revisit=revisit), ticket_key=bytes(32)) for _ in range(draws)]
        for name, revisit in _CRAWLS.items()
    }
    found = (each for each in open_archive([path]).records() if _is_page(each))
    records = list(islice(found, most))
    took, read, seq = dict.fromkeys(models, 0.0), 0.0, 0
    for visit, record in product(range(again + 1), records):
        seq += 1
        reading, features = _least([partial(extract, record.body, url=record.url)] * draws)
        sent = SentPage(len(record.body), record.url, body=record.body)
        marking, facts = _least([partial(SiteRevisitor.read, sent)] * draws)
        read += reading
        features.facts |= facts
        now_s, key = START_S + visit * DAY_S + seq, identity(record.url)
        event = PageFetched(str(seq), host_of(record.url), record.url, key, 200, "", b"", now_s, features)
        for name, alike in models.items():
            spent, _ = _least([partial(model.apply, seq, event) for model in alike])
            took[name] += spent + (marking if _CRAWLS[name] else 0.0)
    return seq, read, took


def _least(calls: Sequence[Callable[[], Any]]) -> tuple[float, Any]:
    """Return the least CPU time of some calls alike, and the last answer."""
    least, answer = math.inf, None
    for call in calls:
        begun = time.thread_time()
        answer = call()
        least = min(least, time.thread_time() - begun)
    return least, answer


def _is_page(record: ArchiveRecord) -> bool:
    return record.status == 200 and "html" in record.headers.get("Content-Type", "")
