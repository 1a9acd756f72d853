"""Digests of all that a crawl of a generated site answers and keeps: `python score_digests.py POLICY ...`.

A process of its own, because `SETTINGS` are read when numpy is imported, and hashes of texts differ from
process to process: none of that may change a score.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from linkscore_lab.archives import write_warc
from linkscore_lab.datasets.site import identity
from linkscore_lab.datasets.synthetic import SyntheticSite
from linkscore_lab.replay.crawl import CrawlPlan, FeedbackPlan, crawl
from linkscore_lab.replay.in_process import InProcessScorer
from linkscore_lab.replay.prepare import SiteSource, prepare_site
from linkscore_lab.replay.scorer import CrawlSetup, PageScores, ReplayVisit
from linkscore_lab.replay.stored import StoredSite
from linkscore_scoring.features.types import Words
from linkscore_scoring.hashing import hash64
from linkscore_scoring.testing.subject import packed
from linkscore_scoring.wanted import Wanted, WantedQuery

# OpenBLAS adds up dot products, and numpy takes logarithms, in a way that they choose by processor: the last
# bits differ. These are ways that every x86-64 of the last ten years has.
SETTINGS = {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"}
# Learning happens after 100 pages, and is in the scores of the last ones.
_FETCHES = 130


class _Noted(InProcessScorer):
    """Digests each answer to the last bit."""

    def __init__(self, setup: CrawlSetup) -> None:
        super().__init__(setup)
        self.digest = hashlib.sha256()

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        found = super().visit(site, visit)
        self._note([*found.scores, *found.rescored_scores])
        answer = [visit.key, found.bucket_names, list(map(int, found.buckets))]
        self.digest.update(json.dumps(answer).encode())
        return found

    def plan(
        self, buckets: Sequence[str], waiting: Sequence[int], in_flight: Mapping[str, int], n: int
    ) -> tuple[Sequence[float], Sequence[int]]:
        values, takes = super().plan(buckets, waiting, in_flight, n)
        self._note(values)
        return values, takes

    def _note(self, values: Sequence[float]) -> None:
        self.digest.update(struct.pack(f">{len(values)}d", *values))


def digest_of(policy: str, generated: SyntheticSite, stored: StoredSite) -> str:
    """Return the digest of a crawl that reports what each page was worth, in numbers without end."""
    item = next(url for url in generated.urls() if generated.labels()[identity(url)] == "item")
    params = {"example_url": item} if policy in ("source_target", "tpm") else {}
    wanted = Wanted(queries=(WantedQuery(_title(generated, item)),)) if policy == "topic" else None
    scorer = _Noted(CrawlSetup(policy, params, wanted=wanted))
    feedback = FeedbackPlan(lambda key: hash64(key) % 1_000 / 999)
    crawl(stored, CrawlPlan(stored.entries, _FETCHES, feedback=feedback), scorer)
    scorer.digest.update(packed(scorer.model.to_state()))
    return scorer.digest.hexdigest()[:16]


@contextmanager
def stored(generated: SyntheticSite) -> Iterator[StoredSite]:
    """Read the pages of a site as an archive is read: from bytes, with layout and words."""
    with TemporaryDirectory() as folder:
        pages = {url: generated.respond(url).body for url in generated.urls()}
        sources = [SiteSource([write_warc(Path(folder) / "site.warc.gz", pages)])]
        with prepare_site(sources, workers=1, layout=True, words=Words.COUNTED) as site:
            yield site


def _title(generated: SyntheticSite, url: str) -> str:
    return generated.respond(url).body.decode().partition("<h1>")[2].partition("</h1>")[0]


def main(policies: Sequence[str]) -> dict[str, Any]:
    """Return the digest of each policy."""
    generated = SyntheticSite(1_000)
    with stored(generated) as site:
        return {policy: digest_of(policy, generated, site) for policy in policies}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))
