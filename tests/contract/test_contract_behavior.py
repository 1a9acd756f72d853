"""Behaviour mined from a browse log over the wire orders links, says why, hands out patterns and seeds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from linkscore.v1 import browse_log_service_pb2 as browse
from linkscore.v1 import link_scoring_service_pb2 as links
from linkscore.v1 import policy_pb2
from support.server_process import Stubs

HOST = "log.test"
START = 20_000 * 86_400
FETCH = policy_pb2.PolicySpec(behavior_fetch=policy_pb2.BehaviorFetchParams())
pytestmark = pytest.mark.usefixtures("takes_logs")


def url(path: str) -> str:
    return f"http://{HOST}{path}"


def visits(days: int = 30) -> list[browse.BrowseRecord]:
    """Return a log: a thread a day that three people read, coming from the list."""
    rows = []
    for day in range(days):
        for person in range(3):
            for n, (path, referrer) in enumerate([("/list", ""), (f"/show?t={100 + day}", url("/list"))]):
                row = browse.BrowseRecord(client_id=f"{day}.{person}", url=url(path), referrer=referrer)
                row.time.seconds = START + 86_400 * day + 60 * person + n
                rows.append(row)
    return rows


def mined(server: Stubs, crawl: str) -> browse.MineSiteResponse:
    batch = browse.ImportBrowseRecordsRequest(crawl=crawl, batch_id="1", records=visits())
    server.browse.ImportBrowseRecords(batch)
    return server.browse.MineSite(browse.MineSiteRequest(name=f"{crawl}/sites/{HOST}"))


def explained(server: Stubs, crawl: str, *paths: str) -> list[tuple[float, str]]:
    asked = links.ScoreLinksRequest(
        explain=True, crawl=crawl, links=[links.CandidateLink(url=url(path)) for path in paths]
    )
    return [(e.score, e.summary) for e in server.links.ScoreLinks(asked).explanations]


def test_new_pages_come_before_old_ones_once_the_log_is_mined(
    server: Stubs, new_crawl: Callable[..., str]
) -> None:
    crawl = new_crawl(policy=FETCH)
    got = mined(server, crawl)
    assert got.policy == "behavior_fetch"
    assert "URL patterns of 31 pages" in got.summary
    (new, why), (old, _) = explained(server, crawl, "/show?t=131", "/show?t=101")
    assert new > old
    assert "a page that the log does not have" in why
