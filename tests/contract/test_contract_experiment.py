"""Policy `experiment`: each site has one of two policies, and says what its first fetches brought."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from linkscore.v1 import common_pb2, policy_pb2, site_model_service_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from support.link_calls import report
from support.server_process import Stubs

NewCrawl = Callable[..., str]
SITES = [f"s{n}.test" for n in range(12)]


def experiment(**params: object) -> policy_pb2.PolicySpec:
    named = policy_pb2.ExperimentParams(policies="harvest+opic", horizon=2, **params)
    return policy_pb2.PolicySpec(experiment=named)


def fetch(server: Stubs, crawl: str, path: str) -> None:
    body = b"<html><body><a href='/a'>a</a></body></html>"
    pages = [
        common_pb2.Page(url=f"http://{site}{path}", status_code=200, content_type="text/html", body=body)
        for site in SITES
    ]
    server.links.IngestPages(pb.IngestPagesRequest(crawl=crawl, pages=pages))


def candidates(server: Stubs, crawl: str) -> dict[str, site_model_service_pb2.PolicyTrust]:
    """Return the policy of each site."""
    sites = server.sites.ListSites(site_model_service_pb2.ListSitesRequest(crawl=crawl)).sites
    found = {}
    for site in sites:
        served, *rest = site.policy_trust
        assert served.policy == "experiment"
        found[site.host] = rest[-1]
    return found


def test_sites_are_divided_and_say_what_their_first_fetches_brought(
    server: Stubs, new_crawl: NewCrawl
) -> None:
    crawl = new_crawl(policy=experiment())
    for path in ("/", "/a", "/b"):
        fetch(server, crawl, path)
    report(server, crawl, pb.Feedback(url="http://s0.test/a", reward=1.0))
    report(server, crawl, pb.Feedback(url="http://s0.test/b", reward=1.0))
    found = candidates(server, crawl)
    assert {trust.policy for trust in found.values()} == {"harvest", "opic"}
    assert {trust.judged_count for trust in found.values()} == {2}
    assert found["s0.test"].reward == pytest.approx(0.5)
    assert not any(trust.reward for site, trust in found.items() if site != "s0.test")


def test_the_division_is_that_of_the_salt(server: Stubs, new_crawl: NewCrawl) -> None:
    divisions = []
    for salt in ("", "", "other"):
        crawl = new_crawl(policy=experiment(salt=salt))
        fetch(server, crawl, "/")
        divisions.append({site: trust.policy for site, trust in candidates(server, crawl).items()})
    assert divisions[0] == divisions[1] != divisions[2]
