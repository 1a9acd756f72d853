"""Points in time as pages write them."""

from __future__ import annotations

import pytest

from linkscore_scoring.features.layout.moments import minutes_of, time_order

MARCH_5 = 2024 * 535_680 + 3 * 44_640 + 5 * 1_440


@pytest.mark.parametrize(
    "text",
    [
        "2024-03-05",
        "2024/3/5",
        "5.3.2024",
        "05-03-2024",
        "3/5/2024",
        "05.03.24",
        "Mar 5, 2024",
        "March 5th 2024",
        "5 March 2024",
        "5. März 2024",
        "5 de marzo de 2024",
        "5 mars 2024",
        "5 марта 2024",
        "posted on Mar 05, 2024",
    ],
)
def test_one_day_in_many_ways(text: str) -> None:
    assert minutes_of(text) == MARCH_5


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("14:05", 845), ("2:05 pm", 845), ("2:05:59 a.m.", 125), ("12:30 am", 30), ("12:30 pm", 750)],
)
def test_the_time_of_day_counts_behind_the_day(text: str, minutes: int) -> None:
    assert minutes_of(f"2024-03-05 {text}") == MARCH_5 + minutes


def test_times_before_now_are_later_than_dates_and_in_order() -> None:
    texts = [
        "2024-03-05",
        "2 years ago",
        "il y a 3 mois",
        "vor 2 Tagen",
        "yesterday, 10:00",
        "an hour ago",
        "1 минуту назад",
    ]
    values = [minutes_of(text) for text in texts]
    assert None not in values
    assert values == sorted(values)  # type: ignore[type-var]


def test_a_clock_alone_is_a_time_without_order() -> None:
    assert minutes_of("10:15") == minutes_of("23:59") == 0


@pytest.mark.parametrize(
    "text", ["", "hello", "25 posts", "1999", "99.99.2024", "Foo 5, 2024", "3 apples ago", "may be"]
)
def test_other_texts_name_no_time(text: str) -> None:
    assert minutes_of(text) is None


@pytest.mark.parametrize(
    ("times", "order"),
    [([], 0), ([5], 0), ([1, 2, 3], 1), ([3, 2, 1], -1), ([1, 3, 2], 1 / 3), ([1, 1, 2], 2 / 3)],
)
def test_time_order_is_kendalls_tau(times: list[float], order: float) -> None:
    assert time_order(times) == pytest.approx(order)
