"""Sites are mined in processes of their own, which come with the first job and go with the last."""

from __future__ import annotations

import asyncio
import os

import numpy as np

from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.browse_logs.mining import MiningSettings
from linkscore_server.browse_logs.mining_pool import MiningJob, MiningPool, MiningResult, mine


def job(site: str) -> MiningJob:
    """One visit of one page."""
    one, none = np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    counts = BrowseCounts(20_000, 60, [f"http://{site}/x"], none, none, one, none - 1, none, one)
    return MiningJob(site, counts, MiningSettings(), None)


def elsewhere(job: MiningJob) -> tuple[int, MiningResult]:
    """Mine, and say in which process; a module of tests is imported there too."""
    if job.site == "b.org":
        raise ValueError("torn")
    return os.getpid(), mine(job)


async def test_sites_are_mined_elsewhere_and_a_failure_is_that_of_its_site() -> None:
    """One process is started for all of it: that is what takes time here."""
    pool = MiningPool(1)
    pool.close()  # a closed pool is made anew
    assert not pool.is_open
    jobs = (pool.run(elsewhere, job(site)) for site in ("a.org", "b.org", "c.org"))
    a, b, c = await asyncio.gather(*jobs, return_exceptions=True)
    assert isinstance(b, ValueError)
    assert str(b) == "torn"
    for site, found in (("a.org", a), ("c.org", c)):
        assert not isinstance(found, BaseException)
        assert found[0] != os.getpid()
        assert found[1] == mine(job(site))
    assert not pool.is_open
