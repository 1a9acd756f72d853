"""Where the CPU of a page goes, stage by stage, and which stages cost more than when the profile was written.

Usage::

    python -m benchmarks --only budget         the table; a stage is missed if it moved up
    python -m benchmarks.bench_budget --write  writes budget.json for the reader of pages that is there
    python -m benchmarks.bench_budget --busy   works through pages until all are read, for a profiler

One page after the other goes through the stages in this process, as the server works on it, and each time the
bare parse of the same page is measured beside it: the profile has ratios to that, which hold on any machine.
The stages leave out what gRPC and the event loop cost, some tenth of a page in a call of ten and more in a
call of one; `ingest` has the whole.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

import lxml.html

from benchmarks.pages import Corpus, Page, message
from benchmarks.table import Row
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ModelActivated, encode
from linkscore_scoring.features.types import Limits
from linkscore_scoring.kernels import KERNELS, PURE
from linkscore_scoring.site.learning import run as learn
from linkscore_server.services import messages
from linkscore_server.services.pages import PageParser, ParseOptions
from linkscore_server.store import NewEvent, open_store

PROFILE = Path(__file__).with_name("budget.json")
LEARNED_FROM, MEASURED, A_ROUND = 200, 180, 30
READER = "compiled" if KERNELS is not PURE else "pure"
"""Each reader of pages has a profile of its own."""
MOVED = 1.15
"""Times its share in the profile from which a stage has moved: runs of the same code differ by a tenth."""

LEAST = 0.1
"""Times the bare parse that a stage may cost more in any case: the smallest stages are all noise."""

BARE = "bare parse"
"""The stage that others are compared with."""

Spent = dict[str, float]
"""CPU seconds by stage."""

Ratios = dict[str, tuple[float, float]]
"""By stage, CPU beside the bare parse: the median over rounds, and the distance of their quartiles."""


class Pipeline:
    """The stages of a page, each timed.

    Parameters
    ----------
    folder
        Where the log is written.
    """

    def __init__(self, folder: Path) -> None:
        self.spent: Spent = {}
        self._model = CrawlModel(CrawlConfig("bench"), ticket_key=b"key")
        self._parser = PageParser(Limits(), time.time)
        self._log = open_store(str(folder)).create("bench")
        self._seq = 0

    def take(self, page: Page) -> None:
        """Let a page through."""
        raw = pb.IngestPagesRequest(pages=[message(page)]).SerializeToString()
        self._timed(BARE, lambda: lxml.html.document_fromstring(page.body))
        request = self._timed("request in", lambda: pb.IngestPagesRequest.FromString(raw))
        site_of, plain = self._model.site_of, ParseOptions()
        event = self._timed(
            "page to features",
            lambda: self._parser.event(request.pages[0], site_of, plain),
        )
        raw_event = self._timed("event to bytes", lambda: encode(event))
        new = [NewEvent(event.site, event.event_id, raw_event)]
        self._timed("log, fdatasync", lambda: self._log.commit(new).result())
        self._seq += 1
        outcome = self._timed("apply and score", lambda: self._model.apply(self._seq, event))
        features = event.features
        links, notes = (features.links, features.notes) if features else (None, [])

        def answer() -> bytes:
            response = pb.IngestPagesResponse()
            messages.add_page_result(response.results.add(), "bench", outcome, links, notes)
            return response.SerializeToString()

        self._timed("answer out", answer)
        for job in self._model.take_jobs():
            activated = ModelActivated(job.site, job.built_from_seq, {})
            self._model.apply(self._model.seq, activated, self._timed("learning", partial(learn, job)))

    def _timed(self, stage: str, work: Callable[[], Any]) -> Any:
        started = time.process_time()
        done = work()
        self.spent[stage] = self.spent.get(stage, 0.0) + time.process_time() - started
        return done


def measure(pages: Sequence[Page]) -> tuple[float, Ratios]:
    """Return CPU milliseconds a page of the bare parse, and the ratio of each stage to it.

    Rounds are of pages that are new to a learned site; learning is spread over all pages, and has no rounds.
    """
    rounds: list[Spent] = []
    with TemporaryDirectory(prefix="linkscore-bench-") as folder:
        pipeline = Pipeline(Path(folder))
        for page in pages[:LEARNED_FROM]:
            pipeline.take(page)
        learning = pipeline.spent.pop("learning", 0.0)
        gc.collect()
        gc.freeze()
        for at in range(LEARNED_FROM, len(pages), A_ROUND):
            some = pages[at : at + A_ROUND]
            pipeline.spent = {}
            for page in some:
                pipeline.take(page)
            learning += pipeline.spent.pop("learning", 0.0)
            rounds.append({stage: seconds / len(some) for stage, seconds in pipeline.spent.items()})
        gc.unfreeze()
    bare = median(spent[BARE] for spent in rounds)
    stages = [stage for stage in rounds[0] if stage != BARE]
    ratios = {stage: _spread([spent[stage] / spent[BARE] for spent in rounds]) for stage in stages}
    ratios["all of these"] = _spread([sum(spent.values()) / spent[BARE] - 1.0 for spent in rounds])
    return bare * 1e3, ratios | {"learning": (learning / len(pages) / bare, 0.0)}


def _spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the median, and the distance of the quartiles."""
    low, middle, high = quantiles(values, n=4)
    return middle, high - low


def run(corpus: Corpus) -> list[Row]:
    """Return a row for each site and stage, with the most it may cost beside the profile."""
    profile = json.loads(PROFILE.read_text()).get(READER, {})
    rows = []
    for site in corpus.names:
        bare, ratios = measure(corpus.pages(site, LEARNED_FROM + MEASURED))
        for stage, (ratio, _) in ratios.items():
            known, _ = profile.get(site, {}).get(stage, (None, None))
            most = None if known is None else round(max(known * MOVED, known + LEAST), 2)
            rows.append(Row(f"Budget: {stage}", site, ratio * bare, "ms CPU/page", bare, most))
    return rows


def main() -> None:
    """Write the profile, or keep busy."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", type=Path, default=Path(os.environ.get("LINKSCORE_CORPORA", "corpora")))
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true", help="Measure, and write budget.json.")
    what.add_argument("--busy", action="store_true", help="Only work through the pages.")
    args = parser.parse_args()
    corpus = Corpus(args.corpora)
    found = {site: measure(corpus.pages(site, LEARNED_FROM + MEASURED))[1] for site in corpus.names}
    if args.write:
        rounded = {
            site: {stage: [round(x, 2) for x in both] for stage, both in ratios.items()}
            for site, ratios in found.items()
        }
        profile = json.loads(PROFILE.read_text()) | {READER: rounded}
        text = json.dumps(profile, indent=2)
        PROFILE.write_text(re.sub(r"\[\s+([\d.]+),\s+([\d.]+)\s+\]", r"[\1, \2]", text) + "\n")


if __name__ == "__main__":
    main()
