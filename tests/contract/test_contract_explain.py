"""ScoreLinks with `explain`: the score, and why."""

from __future__ import annotations

import pytest

from linkscore.v1 import (
    common_pb2 as common,
)
from linkscore.v1 import (
    link_scoring_service_pb2 as pb,
)
from support.crawl_calls import BAD, OK, score
from support.server_process import Stubs
from support.small_site import HOST, url_of

IN_GROUPS_TOO = True


@pytest.mark.parametrize("name", ["source_ucc", "harvest"])
def test_an_explanation_has_the_score_and_says_why(
    server: Stubs, learned: str, learned_ucc: str, name: str
) -> None:
    crawl = learned if name == "harvest" else learned_ucc
    urls = [url_of(61), url_of(62)]
    asked = pb.ScoreLinksRequest(explain=True, crawl=crawl, links=[pb.CandidateLink(url=url) for url in urls])
    got = server.links.ScoreLinks(asked)
    scored = score(server, crawl, *urls)
    assert got.policy == name
    assert [why.url for why in got.explanations] == urls
    assert [why.score for why in got.explanations] == pytest.approx(list(scored.links.scores))
    for why in got.explanations:
        assert why.summary
        assert why.bucket.startswith(f"{HOST}/")
        assert why.stage == common.SITE_STAGE_READY
        assert all(term.name and term.description for term in why.terms)


def test_a_bad_link_is_a_status_among_the_explanations(server: Stubs, learned: str) -> None:
    asked = pb.ScoreLinksRequest(
        explain=True, crawl=learned, links=[pb.CandidateLink(url=u) for u in ("/x", url_of(1))]
    )
    bad, good = server.links.ScoreLinks(asked).explanations
    assert (bad.status.code, bad.status.problems[0].field) == (BAD, "links[0].url")
    assert good.status.code == OK
