"""Sites are mined in processes of their own, which come with the first job and go with the last."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass

import numpy as np

from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.browse_logs.mining import MiningSettings
from linkscore_server.browse_logs.mining_pool import MiningJob, MiningPool, mine
from linkscore_server.browse_logs.visits.base import VisitQuery, VisitReader


@dataclass(frozen=True, slots=True)
class Reader(VisitReader):
    """Counts one visit of a page named by the process that counts; fails if `error` says so."""

    error: str = ""

    def counts(self, query: VisitQuery, *, memory_mb: int) -> BrowseCounts:
        if self.error:
            raise ValueError(self.error)
        one, none = np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        page = f"http://{query.site}/{os.getpid()}"
        return BrowseCounts(query.first_day, query.n_days, [page], none, none, one, none - 1, none, one)


def job(site: str, error: str = "") -> MiningJob:
    return MiningJob(Reader(error), VisitQuery(site, 20_000, 60, 500), MiningSettings(), None, 256)


async def test_sites_are_mined_elsewhere_and_a_failure_is_that_of_its_site() -> None:
    """One process is started for all of it: that is what takes time here."""
    pool = MiningPool(1)
    pool.close()  # a closed pool is made anew
    assert not pool.is_open
    jobs = (pool.run(mine, each) for each in (job("a.org"), job("b.org", "torn"), job("c.org")))
    a, b, c = await asyncio.gather(*jobs, return_exceptions=True)
    assert isinstance(b, ValueError)
    assert str(b) == "torn"
    for site, found in (("a.org", a), ("c.org", c)):
        assert not isinstance(found, BaseException)
        here = mine(job(site))
        assert (found.event.site, found.visits, found.pages) == (site, 1, 1)
        assert found.event.mined["window"] == here.event.mined["window"]
        assert found.event.digest != here.event.digest  # another process, another page
    assert not pool.is_open


def test_mining_is_deterministic() -> None:
    assert mine(job("a.org")).event == mine(job("a.org")).event
