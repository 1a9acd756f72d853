"""Links read from the bytes of a question are those read from its message, and score the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.columns import Repeated
from linkscore_scoring.engine.asked_links import AskedLinks, read_links
from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.link_batches import hash_of
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.kernels import KERNELS, PURE
from linkscore_scoring.testing.crawl import SimulatedCrawl, crawl_model
from linkscore_scoring.testing.site import GeneratedSite
from linkscore_scoring.urls.identity import validate_url
from linkscore_scoring.urls.session_ids import SessionIds

native = pytest.mark.skipif(KERNELS is PURE, reason="the compiled kernels are not installed: make native")
MAX_CHARS = 200
SID = "sid=a1b2c3d4e5f6a7b8"


def identify(url: str) -> str | None:
    try:
        return validate_url(url, "url", max_chars=MAX_CHARS)
    except InvalidInput:
        return None


def read(rows: list[tuple[str, bytes, str]]) -> AskedLinks | None:
    links = [pb.CandidateLink(url=url, ticket=ticket, anchor_text=anchor) for url, ticket, anchor in rows]
    policy = pb.ScoreLinksRequest(
        crawl="crawls/c", encoding=common_pb2.PRIORITY_ENCODING_SCRAPY, require_learned=True, links=links
    )
    return read_links(policy.SerializeToString(), max_chars=MAX_CHARS, identify=identify)


urls = st.one_of(
    st.sampled_from(
        ["http://a.example/", "https://a.example/x?b=1&a=2", f"http://a.example/?{SID}", "http://"]
    ),
    st.builds(
        "http://{}/{}?{}".format,
        st.sampled_from(["a.example", "B.example:80", "c.example:8080", "ü.example"]),
        st.text("abS/.;()%20é", max_size=12),
        st.text("abS=&?sidcf/%41é#", max_size=16),
    ),
)


@native
@given(st.lists(st.tuples(urls, st.sampled_from([b"", b"one", b"two"]), st.text(max_size=3)), max_size=8))
def test_columns_are_those_of_the_message(rows: list[tuple[str, bytes, str]]) -> None:
    found, keys = read(rows), [identify(url) for url, _, _ in rows]
    if None in keys:
        assert found is None
        return
    assert found is not None
    assert (list(found.urls), list(found.keys)) == ([url for url, _, _ in rows], keys)
    assert (list(found.tickets), list(found.anchors)) == ([t for _, t, _ in rows], [a for _, _, a in rows])
    assert found.tickets == Repeated.of([ticket for _, ticket, _ in rows])
    assert found.packed.hashes() == [hash_of(key) for key in found.keys]
    plain, doubtful = SessionIds(), set(found.packed.doubtful())
    stays = [text for text in [*found.urls, *found.keys] if text not in doubtful]
    assert plain.strip_all(stays) == stays


@native
def test_links_that_are_sent_again_are_the_same() -> None:
    rows = [(f"http://h.example/{n % 7}?b={n}&a={SID if n % 5 == 0 else n}", b"t", "") for n in range(50)]
    once, again = read(rows), read(rows)
    assert once is not None
    assert again is not None
    assert list(once.keys) == list(again.keys)
    assert once.packed.hashes() == again.packed.hashes()


@pytest.mark.parametrize("raw", [b"\x12", b"\x12\x05\x0a", b"\x0b", b"\xff" * 12, b"\x12\x02\x0a\x7f"])
def test_bytes_that_are_no_message_are_not_read(raw: bytes) -> None:
    assert read_links(raw, max_chars=MAX_CHARS, identify=identify) is None


@native
@pytest.mark.parametrize("policy", ["harvest", "anthelion", "depth_first", "source_ucc", "keyword"])
def test_scores_are_those_of_links_that_came_as_lists(policy: str) -> None:
    crawl = SimulatedCrawl(crawl_model(PolicyChoice(policy)), GeneratedSite(seed=3)).fetch(40)
    queries = CrawlQueries(crawl.model)
    home = crawl.site.home
    known = crawl.frontier()
    asked = [(url, ticket, "") for url, ticket in known]
    odd = [(f"{home}never/{n}?{SID}", known[n][1], "anchor") for n in range(9)]
    others = [("http://other.example/", b"", ""), (known[0][0], b"foreign", ""), (known[1][0], b"", "")]
    for rows in (asked, asked + odd, asked + odd + others):
        assert_scored_as_lists(queries, rows)


def assert_scored_as_lists(queries: CrawlQueries, rows: list[tuple[str, bytes, str]]) -> None:
    links = read(rows)
    assert links is not None
    plain = [list(column) for column in zip(*rows, strict=True)]
    of_lists = queries.score_links(plain[0], [identify(url) or "" for url in plain[0]], plain[1], plain[2])
    found = queries.score_asked(links)
    assert found.scores.tolist() == of_lists.scores.tolist()
    assert (found.bucket_names, found.buckets) == (of_lists.bucket_names, of_lists.buckets)
    assert (found.bucket_values, found.stage) == (of_lists.bucket_values, of_lists.stage)


@native
def test_urls_of_a_site_with_session_ids_lose_them() -> None:
    model: CrawlModel = crawl_model(PolicyChoice("harvest"))
    crawl = SimulatedCrawl(model, GeneratedSite(seed=3)).fetch(20)
    site = model.sites[model.site_of(crawl.site.home)]
    url, ticket = crawl.frontier()[0]
    for n in range(4):
        site.model.sessions.observe(
            "http://h/", [f"http://h/{k}?v=a{n}b2c3d4e5f6a7b8{n}&t={k}" for k in range(3)]
        )
    assert site.model.sessions.names() == ["v"]
    rows = [(url, ticket, ""), (f"{url}?v=a1b2c3d4e5f6a7b81", ticket, "")]
    assert_scored_as_lists(CrawlQueries(model), rows)
