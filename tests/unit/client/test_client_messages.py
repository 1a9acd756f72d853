"""Builders and readers around the messages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from linkscore import page, policy_spec


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
