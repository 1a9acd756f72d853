"""Builders and readers around the messages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from linkscore import page, policy_spec, rows
from linkscore.v1 import common_pb2


def test_a_page_with_a_body_was_answered_200_and_gets_a_fresh_event_id() -> None:
    one, two = page(url="http://s/", body=b""), page(url="http://s/", body=b"")
    assert one.status_code == 200
    assert one.event_id
    assert one.event_id != two.event_id


def test_times_without_a_zone_are_utc() -> None:
    naive = page(url="http://s/", fetch_time=datetime(2026, 1, 2, 3))
    aware = page(url="http://s/", fetch_time=datetime(2026, 1, 2, 3, tzinfo=UTC))
    assert naive.fetch_time == aware.fetch_time


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
