"""A policy from outside that fails: breadth-first order replaces it; its crawl and the others go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import grpc
import pytest

from linkscore.v1 import common_pb2, policy_pb2
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import site_model_service_pb2 as sites_pb
from linkscore_scoring.policies.base import Scored
from linkscore_scoring.policies.baselines import BreadthFirst
from linkscore_scoring.policies.guard import FAILURES
from linkscore_scoring.policies.registry import register
from linkscore_server.app import Application
from linkscore_server.crawls import sites
from linkscore_server.settings import Settings
from support.server_process import Refusal, Stubs
from support.small_site import HOST, page

SOUND, FAULTY = "crawls/sound", "crawls/faulty"
PATIENCE_S = 60.0
FAULTS = (
    *("__init__", "score", "value", "explain", "observe", "feedback", "to_state", "load_state"),
    *("site_value", "page_note", "set_examples"),
    *("a state that cannot be stored", "a score that is none"),
)
FEW = ("__init__", "score", "observe", "load_state")
"""One of each time at which a policy is asked; the others are slow together."""


# Of these a policy of a site does not come back; of the others, only the one answer is another's.
TAKES_OUT = {"observe", "feedback"}


class Faulty(BreadthFirst):
    """Works until it is armed; then one of its methods raises."""

    name = "toy_faulty"
    armed: ClassVar[str] = ""

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        self._fail_if("__init__")
        super().__init__(params, seed=seed)

    def _fail_if(self, method: str) -> None:
        if self.armed == method:
            raise ZeroDivisionError(f"in {method}")

    def to_state(self) -> dict[str, Any]:
        self._fail_if("to_state")
        return {"x": object()} if self.armed == "a state that cannot be stored" else {"x": 1}

    def load_state(self, state: dict[str, Any]) -> None:
        self._fail_if("load_state")


def _failing(method: str) -> Any:
    def call(self: Faulty, *args: Any, **kwargs: Any) -> Any:
        self._fail_if(method)
        inherited = getattr(BreadthFirst, method, None)
        return inherited(self, *args, **kwargs) if inherited is not None else _NEUTRAL[method]

    return call


def _score(self: Faulty, links: Any, site: Any) -> Any:
    scored = BreadthFirst.score(self, links, site)
    self._fail_if("score")
    return (
        Scored(scored.scores * float("nan"), scored.buckets)
        if self.armed == "a score that is none"
        else scored
    )


Faulty.score = _score  # type: ignore[method-assign]
_NEUTRAL: dict[str, Any] = {
    "site_value": 0.5,
    "set_examples": None,
    "site_bandit": None,
    "suggest_examples": [],
}
for _method in {*FAULTS, *_NEUTRAL}:
    if _method not in vars(Faulty):
        setattr(Faulty, _method, _failing(_method))
register(Faulty)


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[Stubs]:
    """Serve a folder, in memory that holds no site but one a crawl, that writes states every few events."""
    settings = replace(
        Settings(),
        listen="127.0.0.1:0",
        metrics_listen="",
        data_dir=str(folder),
        learning_processes=0,
    )
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(sites, "_LEAST_BYTES", 1)
    app = Application(settings)
    app.registry.memory.budget.limit = 0
    app.registry.memory.check = lambda: None  # type: ignore[method-assign]
    await app.start()
    async with grpc.aio.insecure_channel(app.address) as channel:
        try:
            yield Stubs(channel)
        finally:
            Faulty.armed = ""
            await app.stop()
            monkeypatch.undo()


def page_of(n: int) -> common_pb2.Page:
    """Return a page; they are of four sites in turn."""
    found = page(n)
    own = f"{'abcd'[n % 4]}.{HOST}"
    found.url, found.body = found.url.replace(HOST, own), found.body.replace(HOST.encode(), own.encode())
    return found


async def ingest(stubs: Stubs, crawl: str, n: int) -> Any:
    """Send a page within a time in which a server that lives answers."""
    request = pb.IngestPagesRequest(crawl=crawl, pages=[page_of(n)])
    return await stubs.links.IngestPages(request, timeout=PATIENCE_S)


async def use(stubs: Stubs, crawl: str, n: int) -> None:
    """Make one of each call that asks policies something."""
    answer = await ingest(stubs, crawl, n)
    url = page_of(n + 1).url
    feedback = pb.Feedback(event_id=f"f{n}", url=url, reward=1.0)
    buckets = list(answer.results[0].links.bucket_names)
    links = [pb.CandidateLink(url=url)]
    site = pb.WaitingSite(site=answer.results[0].site)
    for call, request in (
        (stubs.links.ReportFeedback, pb.ReportFeedbackRequest(crawl=crawl, feedback=[feedback])),
        (stubs.links.ScoreLinks, pb.ScoreLinksRequest(crawl=crawl, links=links)),
        (stubs.links.RankBuckets, pb.RankBucketsRequest(crawl=crawl, buckets=buckets)),
        (stubs.links.RankSites, pb.RankSitesRequest(crawl=crawl, sites=[site])),
        (
            stubs.links.ScoreLinks,
            pb.ScoreLinksRequest(explain=True, crawl=crawl, links=links),
        ),
    ):
        await call(request, timeout=PATIENCE_S)


async def create(stubs: Stubs, crawl: str, policy: policy_pb2.PolicySpec) -> None:
    made = crawl_pb.Crawl(name=crawl, policy=policy)
    await stubs.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=made), timeout=PATIENCE_S)


HARVEST = policy_pb2.PolicySpec(harvest=policy_pb2.HarvestParams())
OUTSIDE = policy_pb2.PolicySpec(external=policy_pb2.ExternalPolicy(name=Faulty.name))


async def state_of(stubs: Stubs, crawl: str) -> str:
    """Return what the policy of a crawl says of itself, of the sites that have something to say."""
    found = []
    for site in "abcd":
        request = sites_pb.GetSiteRequest(name=f"{crawl}/sites/{site}.{HOST}")
        found.append((await stubs.sites.GetSite(request, timeout=PATIENCE_S)).site.policy_state)
    return " ".join(filter(None, found))


async def page_count(stubs: Stubs, crawl: str) -> int:
    request = crawl_pb.GetCrawlRequest(name=crawl)
    return int((await stubs.crawls.GetCrawl(request, timeout=PATIENCE_S)).crawl.page_count)


@pytest.mark.parametrize(
    "fault",
    [
        *FEW,
        *(pytest.param(fault, marks=pytest.mark.slow) for fault in FAULTS if fault not in FEW),
    ],
)
async def test_a_policy_that_fails_is_taken_out_and_stops_no_crawl(fault: str, tmp_path: Path) -> None:
    Faulty.armed = ""
    before = FAILURES[Faulty.name]
    async with served(tmp_path) as stubs:
        await create(stubs, SOUND, HARVEST)
        await create(stubs, FAULTY, OUTSIDE)
        for n in range(4):
            await asyncio.gather(use(stubs, FAULTY, n), use(stubs, SOUND, n))
        Faulty.armed = fault
        for n in range(4, 12):
            await asyncio.gather(use(stubs, FAULTY, n), use(stubs, SOUND, n))
        assert FAILURES[Faulty.name] > before, "the fault was met"
        if fault in TAKES_OUT:
            assert f"policy 'toy_faulty' failed, breadth-first order replaces it: {fault} raised" in (
                await state_of(stubs, FAULTY)
            )
        Faulty.armed = ""
        changed = crawl_pb.Crawl(name=FAULTY, policy=HARVEST)
        await stubs.crawls.UpdateCrawl(crawl_pb.UpdateCrawlRequest(crawl=changed), timeout=PATIENCE_S)
        for n in range(12, 16):
            await asyncio.gather(use(stubs, FAULTY, n), use(stubs, SOUND, n))
        assert "toy_faulty" not in await state_of(stubs, FAULTY)
        assert [await page_count(stubs, crawl) for crawl in (SOUND, FAULTY)] == [16, 16]
    async with served(tmp_path) as stubs:
        for crawl in (SOUND, FAULTY):
            await use(stubs, crawl, 40)


async def test_a_policy_that_cannot_be_made_is_refused_by_name_before_a_crawl_has_it(tmp_path: Path) -> None:
    Faulty.armed = "__init__"
    async with served(tmp_path) as stubs:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await create(stubs, FAULTY, OUTSIDE)
        told = Refusal(refused.value)
        assert (told.code.name, told.reason) == ("FAILED_PRECONDITION", "POLICY_FAILED")
        assert "toy_faulty" in told.message
        await create(stubs, FAULTY, HARVEST)
