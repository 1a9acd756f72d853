"""CrawlService: create, read, list, change, delete."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from importlib.metadata import version
from typing import Any

import grpc
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore.v1 import link_scoring_service_pb2 as links_pb
from linkscore.v1 import policy_pb2
from linkscore_server.settings import Settings
from support.crawl_calls import BREADTH, INVALID, described, ingest
from support.server_process import Stubs, refusal
from support.small_site import page

UCC = policy_pb2.PolicySpec(source_ucc=policy_pb2.SourceUccParams(alpha=0.25))


def create(server: Stubs, **config: Any) -> pb.Crawl:
    return server.crawls.CreateCrawl(pb.CreateCrawlRequest(crawl=pb.Crawl(**config))).crawl


def update(server: Stubs, *paths: str, **config: Any) -> pb.Crawl:
    request = pb.UpdateCrawlRequest(crawl=pb.Crawl(**config), update_mask=FieldMask(paths=paths))
    return server.crawls.UpdateCrawl(request).crawl


def test_a_new_crawl_has_the_documented_defaults(server: Stubs, crawl: str) -> None:
    made = described(server, crawl)
    assert made.name == crawl
    assert made.policy.WhichOneof("policy") == "harvest"
    assert made.scope == pb.CRAWL_SCOPE_HOST
    assert made.learning.sample_pages == 200
    assert (made.page_count, made.feedback_count, made.site_count, made.seed) == (0, 0, 0, 0)
    assert made.create_time.seconds > 1_600_000_000
    assert not made.observe_only


def test_what_a_crawl_is_created_with_is_read_back(server: Stubs, new_crawl: Callable[..., str]) -> None:
    name = new_crawl(
        policy=UCC,
        scope=pb.CRAWL_SCOPE_DOMAIN,
        learning=pb.LearningConfig(sample_pages=50),
        observe_only=True,
        seed=2**63,
    )
    made = described(server, name)
    assert made.policy == UCC
    assert made.scope == pb.CRAWL_SCOPE_DOMAIN
    assert made.learning.sample_pages == 50
    assert made.observe_only
    assert made.seed == 2**63


def test_creating_the_same_crawl_again_is_fine(server: Stubs, crawl: str) -> None:
    assert create(server, name=crawl) == described(server, crawl)


def test_another_configuration_under_a_name_is_refused(server: Stubs, crawl: str) -> None:
    told = refusal(lambda: create(server, name=crawl, policy=BREADTH))
    assert (told.code, told.reason, told.domain) == (
        grpc.StatusCode.ALREADY_EXISTS,
        "CRAWL_EXISTS",
        "linkscore",
    )
    assert crawl.removeprefix("crawls/") in told.message


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "REQUIRED"),
        ("news", "INVALID_VALUE"),
        ("crawls/", "INVALID_VALUE"),
        ("crawls/UPPER", "INVALID_VALUE"),
        ("crawls/-a", "INVALID_VALUE"),
        ("crawls/a b", "INVALID_VALUE"),
        ("crawls/../a", "INVALID_VALUE"),
        ("crawls/" + "a" * 64, "INVALID_VALUE"),
        ("crawls/a/sites/b", "INVALID_VALUE"),
        ("crawls/" + "ü" * 100_000, "INVALID_VALUE"),
    ],
)
def test_a_bad_name_is_refused_by_field(server: Stubs, name: str, reason: str) -> None:
    told = refusal(lambda: create(server, name=name))
    assert told.code == INVALID
    assert set(told.violations) == {"crawl.name"}
    assert told.violations["crawl.name"].reason == told.reason == reason


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"scope": 99}, "crawl.scope"),
        ({"learning": pb.LearningConfig(sample_pages=7)}, "crawl.learning.sample_pages"),
        ({"learning": pb.LearningConfig(sample_pages=0)}, "crawl.learning.sample_pages"),
        ({"policy": policy_pb2.PolicySpec(source_ucc={"alpha": 1.5})}, "crawl.policy.source_ucc.alpha"),
        (
            {"policy": policy_pb2.PolicySpec(source_ucc={"alpha": float("nan")})},
            "crawl.policy.source_ucc.alpha",
        ),
    ],
)
def test_a_bad_configuration_is_refused_by_field(server: Stubs, config: dict[str, Any], field: str) -> None:
    told = refusal(lambda: create(server, name="crawls/never", **config))
    assert told.code == INVALID
    assert set(told.violations) == {field}
    assert refusal(lambda: described(server, "crawls/never")).reason == "CRAWL_NOT_FOUND"


def test_every_bad_field_of_a_configuration_is_named(server: Stubs) -> None:
    told = refusal(
        lambda: create(
            server,
            name="never",
            scope=99,
            policy=policy_pb2.PolicySpec(harvest={"exploration": -1, "hub_weight": -1}),
            learning=pb.LearningConfig(sample_pages=1),
        )
    )
    assert set(told.violations) == {
        "crawl.name",
        "crawl.scope",
        "crawl.policy.harvest.exploration",
        "crawl.policy.harvest.hub_weight",
        "crawl.learning.sample_pages",
    }


def test_an_unknown_policy_is_named(server: Stubs) -> None:
    spec = policy_pb2.PolicySpec(external=policy_pb2.ExternalPolicy(name="no_such"))
    told = refusal(lambda: create(server, name="crawls/never", policy=spec))
    assert (told.code, told.reason) == (INVALID, "UNKNOWN_POLICY")
    assert set(told.violations) == {"crawl.policy"}
    assert "harvest" in told.violations["crawl.policy"].description


def test_an_error_with_very_many_bad_fields_still_arrives(server: Stubs) -> None:
    spec = policy_pb2.PolicySpec(external=policy_pb2.ExternalPolicy(name="harvest"))
    spec.external.params.update({f"unknown_{i}_{'ü' * 300}": 1.0 for i in range(2_000)})
    told = refusal(lambda: create(server, name="crawls/never", policy=spec))
    assert told.code == INVALID
    assert told.reason == "INVALID_VALUE"
    assert any("more" in violation.description for violation in told.violations.values())


def test_an_unknown_crawl_is_not_found(server: Stubs) -> None:
    for call in (
        lambda: described(server, "crawls/no-such"),
        lambda: update(server, name="crawls/no-such", observe_only=True),
        lambda: server.crawls.DeleteCrawl(pb.DeleteCrawlRequest(name="crawls/no-such")),
    ):
        told = refusal(call)
        assert (told.code, told.reason) == (grpc.StatusCode.NOT_FOUND, "CRAWL_NOT_FOUND")


def test_crawls_are_listed_by_name_in_pages(server: Stubs, new_crawl: Callable[..., str]) -> None:
    made = {new_crawl() for _ in range(3)}
    names, token, calls = list[str](), "", 0
    while True:
        got = server.crawls.ListCrawls(pb.ListCrawlsRequest(page_size=2, page_token=token))
        names += [crawl.name for crawl in got.crawls]
        token, calls = got.next_page_token, calls + 1
        assert len(got.crawls) <= 2
        if not token:
            break
    assert names == sorted(set(names))
    assert made <= set(names)
    assert calls >= 2


def test_a_page_size_over_the_limit_is_refused(server: Stubs) -> None:
    told = refusal(lambda: server.crawls.ListCrawls(pb.ListCrawlsRequest(page_size=1_001)))
    assert (told.code, set(told.violations)) == (INVALID, {"page_size"})


def test_only_the_fields_of_the_mask_change_and_are_cleared_if_not_set(server: Stubs, crawl: str) -> None:
    changed = update(server, "observe_only", name=crawl, observe_only=True, policy=BREADTH)
    assert changed.observe_only
    assert changed.policy.WhichOneof("policy") == "harvest"
    assert described(server, crawl) == changed
    assert not update(server, "observe_only", name=crawl).observe_only


def test_without_a_mask_the_fields_that_are_set_change(server: Stubs, new_crawl: Callable[..., str]) -> None:
    name = new_crawl(observe_only=True)
    for _ in range(2):
        changed = update(server, name=name, policy=UCC, seed=described(server, name).seed)
        assert changed.policy == UCC
        assert changed.observe_only
    other = {
        "seed": 7,
        "learning": pb.LearningConfig(sample_pages=50),
        "experience": [b"{}"],
    }
    told = refusal(lambda: update(server, name=name, policy=BREADTH, scope=pb.CRAWL_SCOPE_DOMAIN, **other))
    assert told.code == INVALID
    assert set(told.violations) == {f"crawl.{field}" for field in ("scope", *other)}
    assert "is CRAWL_SCOPE_HOST and cannot be changed: " in told.violations["crawl.scope"].description
    assert described(server, name).policy == UCC


def test_a_policy_that_is_masked_must_be_given(server: Stubs, crawl: str) -> None:
    told = refusal(lambda: update(server, "policy", name=crawl))
    assert (told.reason, set(told.violations)) == ("REQUIRED", {"crawl.policy"})


@pytest.mark.parametrize("path", ["name", "scope", "seed", "learning.sample_pages", "no_such", "*"])
def test_fields_that_cannot_change_are_refused(server: Stubs, crawl: str, path: str) -> None:
    told = refusal(lambda: update(server, path, name=crawl))
    assert (told.code, set(told.violations)) == (INVALID, {"update_mask"})
    assert path in told.message


def test_an_update_obeys_the_rules_of_creation(server: Stubs, crawl: str) -> None:
    bad = policy_pb2.PolicySpec(source_ucc={"alpha": -1})
    told = refusal(lambda: update(server, "policy", name=crawl, policy=bad))
    assert set(told.violations) == {"crawl.policy.source_ucc.alpha"}


def test_changes_made_at_the_same_time_all_count(server: Stubs, new_crawl: Callable[..., str]) -> None:
    for _ in range(10):
        name = new_crawl()
        calls = [
            server.crawls.UpdateCrawl.future(pb.UpdateCrawlRequest(crawl=changed))
            for changed in (
                pb.Crawl(name=name, policy=BREADTH),
                pb.Crawl(name=name, observe_only=True),
                pb.Crawl(name=name, examples=[pb.ExamplePage(url="http://a.test/1")]),
            )
        ]
        for call in calls:
            call.result()
        got = described(server, name)
        assert (got.policy, got.observe_only, len(got.examples)) == (BREADTH, True, 1)


def test_a_new_policy_serves_from_the_next_call_on(server: Stubs, crawl: str) -> None:
    def policy_of(n: int) -> str:
        return server.links.IngestPages(links_pb.IngestPagesRequest(crawl=crawl, pages=[page(n)])).policy

    assert policy_of(0) == "harvest"
    update(server, name=crawl, policy=BREADTH)
    assert policy_of(1) == "breadth_first"


def test_a_deleted_crawl_is_gone_and_its_name_free_and_empty(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, 0)
    assert described(server, crawl).page_count == 1
    server.crawls.DeleteCrawl(pb.DeleteCrawlRequest(name=crawl))
    assert refusal(lambda: described(server, crawl)).reason == "CRAWL_NOT_FOUND"
    create(server, name=crawl)
    assert described(server, crawl).page_count == 0


def test_every_group_of_a_crawl_is_a_shard_with_what_it_takes(
    server: Stubs, new_crawl: Callable[..., str]
) -> None:
    name = new_crawl(groups=3)
    ingest(server, name, 0, 1)
    found = server.crawls.ListShards(pb.ListShardsRequest(crawl=name)).shards
    assert [(row.crawl, row.group, row.group_count) for row in found] == [(name, n, 3) for n in range(3)]
    assert {row.state for row in found} == {pb.SHARD_STATE_OPEN}
    assert all(row.owner and not row.trouble for row in found)
    [filled] = [row for row in found if row.site_count]
    assert (filled.site_count, filled.live_site_count) == (1, 1)
    assert filled.event_seq == filled.replay_count == 3  # its creation, and two pages
    assert filled.memory_bytes > 10_000
    assert filled.disk_bytes > min(row.disk_bytes for row in found) > 0


def test_shards_of_all_crawls_are_listed_in_order(server: Stubs, new_crawl: Callable[..., str]) -> None:
    names = {new_crawl(groups=1), new_crawl(groups=2)}
    found = [(row.crawl, row.group) for row in server.crawls.ListShards(pb.ListShardsRequest()).shards]
    assert found == sorted(found)
    assert len([row for row in found if row[0] in names]) == 3


def test_a_wrong_question_for_shards_is_refused(server: Stubs) -> None:
    told = refusal(lambda: server.crawls.ListShards(pb.ListShardsRequest(crawl="x")))
    assert (told.code, set(told.violations)) == (INVALID, {"crawl"})


def test_the_server_says_its_version_and_the_settings_in_force(server: Stubs) -> None:
    got = server.crawls.GetServerInfo(pb.GetServerInfoRequest())
    assert got.version == version("linkscore")
    assert set(got.settings) == {field.name for field in fields(Settings)}
    assert got.settings["max_depth"] == "250"
