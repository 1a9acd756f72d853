"""Shares of news: counted, and weighed by how sure each page is."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.browse_logs.news.calibration import NewsEvidence, fit_evidence
from linkscore_scoring.browse_logs.news.rates import CountedRates, WeighedRates, wilson_lower


def rows(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return np.array(numbers, dtype=np.intp)


def test_counting_is_counting() -> None:
    rate = CountedRates(np.array([True, True, False, True]))(rows(0, 1, 2))
    assert rate.share == pytest.approx(2 / 3)


def test_wilsons_bound_by_hand() -> None:
    # z = 1.2816, z^2 = 1.6424; for n of n the bound is 1 / (1 + z^2 / n).
    assert wilson_lower(10, 10) == pytest.approx(1 / 1.16424, abs=1e-4)
    assert wilson_lower(0, 10) == 0.0
    assert wilson_lower(100, 100) > wilson_lower(10, 10)


def test_certain_pages_under_a_flat_prior_are_laplaces_rule() -> None:
    rates = WeighedRates(np.array([30.0, 30.0, -30.0]), [])
    rates.prior = (1.0, 1.0)
    assert rates(rows(0, 1, 2)).share == pytest.approx(3 / 5, abs=1e-3)


def test_a_page_that_says_nothing_leaves_the_prior_as_it_is() -> None:
    rates = WeighedRates(np.array([0.0]), [])
    rates.prior = (2.0, 6.0)
    assert rates(rows(0)).share == pytest.approx(0.25, abs=1e-3)


def test_doubtful_pages_of_one_kind_add_up_to_what_no_threshold_sees() -> None:
    # Of 40 news pages a quarter look like other pages: counted .75, weighed nearly all.
    ratios = np.where(np.arange(40) % 4 == 0, -0.5, 2.0)
    assert CountedRates(ratios > 0)(rows(*range(40))).share == 0.75
    assert WeighedRates(ratios, [rows(*range(40))])(rows(*range(40))).share > 0.85


def test_folders_that_are_all_of_a_kind_let_few_pages_say_much() -> None:
    ratios = np.repeat([30.0, -30.0], 30)
    folders = [rows(*range(i, i + 5)) for i in range(0, 60, 5)]
    mixed = [rows(*range(i, 60, 12)) for i in range(12)]
    alike, unlike = WeighedRates(ratios, folders), WeighedRates(ratios, mixed)
    assert alike(rows(0, 1)).share > 0.85
    assert unlike(rows(0, 1)).share < 0.65
    assert alike(rows(0, 1)).at_least <= alike(rows(0, 1)).share


def test_evidence_has_no_base_rate_in_it() -> None:
    rng = np.random.default_rng(0)
    signals = np.concatenate([rng.normal(1, 1, 3000), rng.normal(-1, 1, 500)])
    evidence = fit_evidence(signals, np.arange(3500) < 3000)
    # ln N(x; 1, 1) - ln N(x; -1, 1) = 2 x.
    assert evidence.slope == pytest.approx(2.0, abs=0.2)
    assert evidence.offset == pytest.approx(0.0, abs=0.2)


def test_kinds_parted_clean_give_finite_evidence() -> None:
    evidence = fit_evidence(np.arange(20.0), np.arange(20) >= 10)
    assert np.isfinite([evidence.slope, evidence.offset]).all()
    assert NewsEvidence(2.0, -1.0).ratios(np.array([0.5, 1.0])).tolist() == [0.0, 1.0]
