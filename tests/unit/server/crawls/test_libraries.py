"""What a crawl imports, it imports before it serves: an import on the event loop holds up everybody."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.errors import InvalidParams
from linkscore_server.crawls.opening import load_libraries

_POLICIES = """
import sys
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import FeedbackGiven
from linkscore_scoring.errors import InvalidParams
from linkscore_scoring.features.types import Limits, Words
from linkscore_scoring.policies.registry import all_policies
from linkscore_scoring.wanted.spec import Wanted, WantedQuery
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
    return sorted(new & {"river", "scipy", "sklearn", "tldextract", "duckdb", "py3langid"})

def needs_params(name):
    try:
        PolicyChoice(name).checked()
    except InvalidParams:
        return True

configs = [CrawlConfig("c", PolicyChoice(name)) for name in all_policies() if not needs_params(name)]
configs.append(CrawlConfig("c", scope="domain"))
configs.append(CrawlConfig("c", PolicyChoice("topic"), wanted=Wanted((WantedQuery("x"),), languages=("en",))))
assert configs[-1].words is Words.WITH_LANGUAGE
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
        load_libraries(CrawlConfig("c", PolicyChoice("harvest"), (PolicyChoice("anthelion"),)))
