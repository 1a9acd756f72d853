"""Names, paging, policies, pages and results: messages to values and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import policy_pb2
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.types import Limits
from linkscore_scoring.policies.registry import builtin
from linkscore_server.services.crawls import config_of, crawl_message
from linkscore_server.services.messages import (
    page_of,
    spec_of,
)
from linkscore_server.services.pages import PageParser, ParseOptions
from support.small_site import HOST, url_of

NOW = 1_700_000_000.25


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


@given(
    st.binary(max_size=2_000), st.sampled_from(["", "gzip", "br", "zstd", "deflate"]), st.text(max_size=20)
)
def test_any_bytes_are_a_page_or_an_error_that_names_a_field(body: bytes, encoding: str, kind: str) -> None:
    given_page = common.Page(
        url=url_of(0), status_code=200, body=body, content_encoding=encoding, content_type=kind
    )
    fields = {"body"}
    try:
        PageParser(Limits(), lambda: NOW).event(given_page, lambda _: HOST, ParseOptions())
    except InvalidPage as error:
        fields = {problem.field for problem in error.problems}
    assert fields == {"body"}
