"""Builders and readers around the messages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from linkscore import page, policy_spec, rows
from linkscore.messages import crawl_name, site_name
from linkscore.v1 import common_pb2, policy_pb2


def test_a_page_with_a_body_was_answered_200_and_gets_a_fresh_event_id() -> None:
    one, two = page(url="http://s/", body=b""), page(url="http://s/", body=b"")
    assert one.status_code == 200
    assert one.event_id
    assert one.event_id != two.event_id


def test_a_failed_fetch_has_no_status_and_no_content() -> None:
    made = page(url="http://s/", fetch_error="timeout", event_id="e1")
    assert (made.status_code, made.WhichOneof("content"), made.event_id) == (0, None, "e1")


def test_times_without_a_zone_are_utc() -> None:
    naive = page(url="http://s/", fetch_time=datetime(2026, 1, 2, 3))
    aware = page(url="http://s/", fetch_time=datetime(2026, 1, 2, 3, tzinfo=UTC))
    assert naive.fetch_time == aware.fetch_time


def test_a_policy_is_a_name_a_pair_or_the_message() -> None:
    assert policy_spec("harvest").WhichOneof("policy") == "harvest"
    assert policy_spec(("source_ucc", {"alpha": 0.3})).source_ucc.alpha == 0.3
    assert policy_spec(policy_pb2.PolicySpec()) == policy_pb2.PolicySpec()
    assert policy_spec(None) is None


def test_a_name_the_contract_does_not_know_comes_from_outside() -> None:
    spec = policy_spec(("mine", {"k": 2}))
    assert (spec.external.name, spec.external.params["k"]) == ("mine", 2)


@pytest.mark.parametrize("params", [{"no_such": 1}, {"alpha": "high"}])
def test_bad_parameters_name_the_policy(params) -> None:
    with pytest.raises(ValueError, match="policy source_ucc: "):
        policy_spec(("source_ucc", params))


def test_rows_fill_absent_columns_with_their_meaning() -> None:
    bad = common_pb2.ItemStatus(code=common_pb2.ITEM_CODE_INVALID)
    first, second = rows(common_pb2.LinkScores(scores=[0.5, 0.0], statuses={1: bad}))
    assert (first.url, first.encoded_priority, first.bucket, first.ticket) == ("", None, "", b"")
    assert (first.in_scope, first.verdict, first.usable) == (True, common_pb2.VERDICT_UNSPECIFIED, True)
    assert not second.usable


def test_names_pass_when_they_are_resource_names() -> None:
    assert crawl_name("a") == crawl_name("crawls/a") == "crawls/a"
    assert site_name("a", "h:8080") == site_name("b", "crawls/a/sites/h%3A8080") == "crawls/a/sites/h%3A8080"
