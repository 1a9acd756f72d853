"""Names, paging, policies, pages and results: messages to values and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb
from linkscore.v1 import policy_pb2
from linkscore.v1 import site_model_service_pb2 as pb
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.results import PageOutcome, ScoredLinks
from linkscore_scoring.errors import InvalidInput, InvalidPage
from linkscore_scoring.features.types import Limits, Links
from linkscore_scoring.policies.answers import EXTRA, SERVED
from linkscore_scoring.policies.registry import builtin
from linkscore_server.grpc.convert import results
from linkscore_server.grpc.convert.crawls import config_of, crawl_message
from linkscore_server.grpc.convert.names import crawl_name, page_of, parse_crawl, parse_site, site_name
from linkscore_server.grpc.convert.pages import PageParser, seconds_of
from linkscore_server.grpc.convert.policies import choice_of, spec_of
from support.small_site import HOST, page, url_of

NOW = 1_700_000_000.25


@given(st.text(min_size=1).filter(lambda s: "/" not in s))
def test_a_crawl_name_is_read_back(crawl: str) -> None:
    assert parse_crawl(crawl_name(crawl)) == crawl


@given(st.text(min_size=1))
def test_a_site_name_is_read_back_whatever_the_host(site: str) -> None:
    assert parse_site(site_name("news", site)) == ("news", site)


@given(st.sets(st.text(min_size=1, max_size=4)), st.integers(1, 5))
def test_pages_of_names_have_no_gaps_and_no_repetition(names: set[str], size: int) -> None:
    ordered, found, token = sorted(names), list[str](), ""
    while True:
        some, token = page_of(ordered, size, token)
        assert len(some) <= size
        found += some
        if not token:
            break
    assert found == ordered


def test_a_name_that_went_away_between_pages_is_no_problem() -> None:
    assert page_of(["a", "c", "d"], 1, "b") == (["c"], "c")


def test_without_a_size_a_page_has_a_hundred_names() -> None:
    names = [f"{n:04d}" for n in range(150)]
    assert page_of(names, 0, "") == (names[:100], "0099")
    with pytest.raises(InvalidInput, match="page_size: must be at most 1000, got 1001"):
        page_of(names, 1_001, "")


def test_the_policies_of_the_contract_are_those_of_the_library() -> None:
    fields = set(policy_pb2.PolicySpec.DESCRIPTOR.fields_by_name)
    assert fields - {"external"} == set(builtin())


@pytest.mark.parametrize("name", sorted(builtin()))
def test_an_unset_parameter_differs_from_one_that_is_zero(name: str) -> None:
    spec = policy_pb2.PolicySpec()
    params = getattr(spec, name)
    params.SetInParent()
    assert spec_of(PolicyChoice(name)) == spec
    for field in params.DESCRIPTOR.fields:
        assert field.has_presence, f"{name}.{field.name} must be optional"


def test_a_choice_has_the_set_parameters_only_zeros_too() -> None:
    spec = policy_pb2.PolicySpec(source_ucc=policy_pb2.SourceUccParams(alpha=0.0))
    assert choice_of(spec) == PolicyChoice("source_ucc", {"alpha": 0.0})
    assert spec_of(PolicyChoice("source_ucc", {"alpha": 0.0})) == spec
    assert choice_of(policy_pb2.PolicySpec()) is None


def test_an_external_policy_goes_by_name_and_struct() -> None:
    spec = spec_of(PolicyChoice("of_somebody", {"depth": 2.0}))
    assert (spec.external.name, dict(spec.external.params)) == ("of_somebody", {"depth": 2.0})


def test_the_roles_of_the_contract_are_those_of_the_library() -> None:
    assert (pb.POLICY_ROLE_SERVED, pb.POLICY_ROLE_EXTRA) == (SERVED, EXTRA)


def test_a_configuration_is_read_back_from_its_message() -> None:
    message = crawl_pb.Crawl(
        name="crawls/news",
        policy=policy_pb2.PolicySpec(uniform_random=policy_pb2.UniformRandomParams(seed=3)),
        scope=crawl_pb.CRAWL_SCOPE_ANY,
        learning=crawl_pb.LearningConfig(sample_pages=9),
        seed=5,
    )
    config = config_of(message, now_s=NOW)
    model = CrawlModel(config, ticket_key=b"k" * 32)
    assert config_of(crawl_message(model), now_s=NOW) == config
    assert CrawlConfig.from_state(config.to_state()) == config


@pytest.fixture(scope="module")
def parser() -> PageParser:
    return PageParser(Limits(), lambda: NOW)


def test_a_page_becomes_an_event_with_features(parser: PageParser) -> None:
    event = parser.event(page(0), lambda _: HOST)
    assert (event.event_id, event.site, event.url, event.now_s) == ("page-0", HOST, url_of(0), NOW)
    assert len(event.features.links) == 13


@pytest.mark.parametrize(
    "failed",
    [
        {"status_code": 404, "body": b"<p>"},
        {"status_code": 200, "body": b"<p>", "fetch_error": "reset"},
        {"status_code": 0, "fetch_error": "dns"},
    ],
)
def test_a_failed_fetch_has_no_features_and_belongs_to_the_site_asked_for(
    parser: PageParser, failed: dict[str, object]
) -> None:
    given_page = common.Page(url="http://a.test/", final_url="http://b.test/", **failed)
    event = parser.event(given_page, lambda url: url.split("/")[2])
    assert event.features is None
    assert event.site == "a.test"


def test_a_redirected_page_belongs_to_where_it_led(parser: PageParser) -> None:
    given_page = common.Page(url="http://a.test/", final_url="http://b.test/", status_code=200, body=b"<p>")
    assert parser.event(given_page, lambda url: url.split("/")[2]).site == "b.test"


@given(
    st.binary(max_size=2_000), st.sampled_from(["", "gzip", "br", "zstd", "deflate"]), st.text(max_size=20)
)
def test_any_bytes_are_a_page_or_an_error_that_names_a_field(body: bytes, encoding: str, kind: str) -> None:
    given_page = common.Page(
        url=url_of(0), status_code=200, body=body, content_encoding=encoding, content_type=kind
    )
    fields = {"body"}
    try:
        PageParser(Limits(), lambda: NOW).event(given_page, lambda _: HOST)
    except InvalidPage as error:
        fields = {problem.field for problem in error.problems}
    assert fields == {"body"}


def test_a_time_before_1970_is_now() -> None:
    stamp = page(0)
    stamp.fetch_time.seconds = -5
    assert seconds_of(stamp.fetch_time, lambda: NOW) == NOW


def test_scores_of_some_links_are_spread_over_all() -> None:
    scored = ScoredLinks(
        np.array([0.25, 0.75]), ["a", "b"], [0, 1], verdicts=[1, 2], priorities=np.array([3.0, 4.0])
    )
    bad = {1: results.invalid(InvalidInput("rule", field="links[1].url"))}
    got = results.spread(scored, [0, 2], 3, bad)
    assert list(got.scores) == [0.25, 0.0, 0.75]
    assert [got.bucket_names[b] for b in got.buckets] == ["a", "", "b"]
    assert list(got.encoded_priorities) == [3.0, 0.0, 4.0]
    assert list(got.verdicts) == [1, 0, 2]
    assert set(got.statuses) == {1}


def outcome_of(**more: object) -> PageOutcome:
    links = ScoredLinks(np.zeros(0))
    return PageOutcome(7, HOST, False, None, 1, 0, "pagerank", links, **more)


def page_result(outcome: PageOutcome) -> scoring_pb.PageResult:
    result = scoring_pb.PageResult()
    results.add_page_result(result, "c", outcome, None, [])
    return result


def test_urls_that_a_page_rescored_are_columns_with_their_urls() -> None:
    scored = ScoredLinks(np.array([0.5, 0.25]), ["h/q0", "h/q-4"], [0, 1], priorities=np.array([9.0, 8.0]))
    outcome = outcome_of(rescored_urls=["http://h/a", "http://h/b"], rescored=scored)
    message = page_result(outcome).rescored
    assert list(message.urls) == ["http://h/a", "http://h/b"]
    assert list(message.scores) == [0.5, 0.25]
    assert list(message.encoded_priorities) == [9.0, 8.0]
    assert [message.bucket_names[i] for i in message.buckets] == ["h/q0", "h/q-4"]


def test_a_page_that_rescored_nothing_has_no_such_columns() -> None:
    assert not page_result(outcome_of()).HasField("rescored")


def test_a_page_without_links_has_an_empty_list_of_them() -> None:
    assert page_result(outcome_of()).HasField("links")


def test_a_link_without_url_has_a_status() -> None:
    got, links = common.LinkScores(), Links(urls=["http://a.test/", ""])
    results.add_link_scores(got, ScoredLinks(np.zeros(2), [""], [0, 0]), links)
    assert set(got.statuses) == {1}
    assert got.statuses[1].problems[0].field == "outlinks[1].url"


@pytest.mark.parametrize(("cluster", "name"), [(-2, ""), (-1, "outlier"), (0, "c0"), (12, "c12")])
def test_clusters_have_names(cluster: int, name: str) -> None:
    assert results.cluster_name(cluster) == name
