"""A call about a crawl that is being opened waits for it, as long as its caller does.

What a crawl imports, it imports before it serves: an import on the event loop holds up everybody.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import grpc
import pytest

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore.v1.crawl_service_pb2_grpc import CrawlServiceStub
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.errors import InvalidParams
from linkscore_server.app import Application
from linkscore_server.crawls import registry
from linkscore_server.crawls.opening import load_libraries
from linkscore_server.settings import Settings


async def test_a_call_waits_within_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    may_open, real = threading.Event(), registry.load_libraries
    app = Application(Settings(data_dir="memory", listen="127.0.0.1:0", metrics_listen=""))
    await app.start()
    await app.registry.create(CrawlConfig("slow"))
    monkeypatch.setattr(registry, "load_libraries", lambda config: may_open.wait() and real(config))
    async with grpc.aio.insecure_channel(app.address) as channel:
        crawls, asked = CrawlServiceStub(channel), pb.GetCrawlRequest(name="crawls/slow")
        patient = asyncio.ensure_future(crawls.GetCrawl(asked))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await crawls.GetCrawl(asked, timeout=0.5)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert not patient.done()
        may_open.set()
        assert (await patient).crawl.name == "crawls/slow"
    await app.stop()


_POLICIES = """
import sys
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import FeedbackGiven
from linkscore_scoring.errors import InvalidParams
from linkscore_scoring.features.types import Limits
from linkscore_scoring.policies.registry import all_policies
from linkscore_scoring.wanted import Wanted
from linkscore_server.crawls.opening import load_libraries, registrable_domain
from linkscore_server.services.pages import PageParser, ParseOptions
from support.small_site import HOST, page

def late(config):
    load_libraries(config)
    model = CrawlModel(config, ticket_key=b"k" * 32, domain_of=registrable_domain)
    before, seq = set(sys.modules), 0
    for n in range(12):
        event = PageParser(Limits(), lambda: 1e9 + n).event(page(n), model.site_of, ParseOptions())
        model.apply(seq := seq + 1, event)
        model.apply(seq := seq + 1, FeedbackGiven("", event.site, event.url, b"", n % 2, 1e9))
    new = {name.partition(".")[0] for name in set(sys.modules) - before}
    return sorted(new & {"river", "scipy", "sklearn", "tldextract", "duckdb"})

def needs_params(name):
    try:
        PolicyChoice(name).checked()
    except InvalidParams:
        return True

configs = [CrawlConfig("c", PolicyChoice(name)) for name in all_policies() if not needs_params(name)]
configs.append(CrawlConfig("c", scope="domain"))
configs.append(CrawlConfig("c", PolicyChoice("topic"), wanted=Wanted(("x",))))
print({(c.policy.name, c.scope): found for c in configs if (found := late(c))})
"""


@pytest.mark.slow
def test_no_policy_imports_a_library_while_it_takes_in_pages_and_feedback() -> None:
    tests = str(Path(__file__).parents[3])
    found = subprocess.run(
        [sys.executable, "-c", _POLICIES], capture_output=True, text=True, cwd=tests, check=False
    )
    assert (found.stdout.strip(), found.returncode) == ("{}", 0), found.stderr[-2000:]


def test_a_policy_whose_library_is_missing_is_refused_by_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "river.drift", None)
    with pytest.raises(InvalidParams, match=r"^policy: anthelion needs river.*linkscore\[learners\]"):
        load_libraries(CrawlConfig("c", PolicyChoice("anthelion")))
