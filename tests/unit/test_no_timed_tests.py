"""No test asserts seconds: what is quick here is slow on another machine."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
STOPWATCH = re.compile(r"\b(perf_counter|process_time|thread_time)\b")
MAY_MEASURE = {
    *("support/growth.py", "campaigns", "kafka", "unit/test_no_timed_tests.py"),
    "unit/server/grpc/test_scheduler.py",
}
"""Where costs are compared with one another, long runs that report figures, a test that sets the clock."""


def test_only_comparisons_and_campaigns_read_a_stopwatch() -> None:
    found = {
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("*.py")
        if STOPWATCH.search(path.read_text(encoding="utf-8"))
    }
    assert {
        name for name in found if name not in MAY_MEASURE and name.split("/")[0] not in MAY_MEASURE
    } == set()
