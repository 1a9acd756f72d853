"""Every clusterer of the contract learns a site of any size."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as links_pb
from linkscore.v1 import site_model_service_pb2 as pb
from support.server_process import Stubs
from support.small_site import HOST, page


@pytest.mark.parametrize("clusterer", crawl_pb.Clusterer.values())
@pytest.mark.parametrize("paper", [False, True])
@pytest.mark.parametrize("n_pages", [1, 2, 30])
def test_a_site_learns_on_demand(
    server: Stubs, new_crawl: Callable[..., str], n_pages: int, clusterer: int, paper: bool
) -> None:
    crawl = new_crawl(learning=crawl_pb.LearningConfig(clusterer=clusterer, paper=paper))
    pages = [page(n) for n in range(n_pages)]
    server.links.IngestPages(links_pb.IngestPagesRequest(crawl=crawl, pages=pages))
    site = server.sites.LearnSite(pb.LearnSiteRequest(name=f"{crawl}/sites/{HOST}"), timeout=60).site
    assert (site.stage, site.model_revision) == (common.SITE_STAGE_READY, 1)
