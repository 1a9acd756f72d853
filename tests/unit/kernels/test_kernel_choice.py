"""Kernels are chosen once: compiled where they can be used, pure elsewhere."""

from __future__ import annotations

import sys

import pytest

from linkscore_scoring import kernels
from linkscore_scoring.kernels import KERNELS, PURE, choose


def test_the_choice_of_a_process_stands() -> None:
    assert choose() is KERNELS
    assert (KERNELS is PURE) == (KERNELS.name == "pure") == (not KERNELS.reads_in_threads)


def test_without_the_distribution_kernels_are_pure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(kernels, "native", raising=False)
    monkeypatch.setitem(sys.modules, "linkscore_scoring.kernels.native", None)
    assert choose() is PURE


@pytest.mark.parametrize(("name", "value"), [("ENABLED", False), ("KERNELS", 1)])
def test_a_distribution_that_is_off_or_of_another_set_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> None:
    native = pytest.importorskip(
        "linkscore_native", reason="the compiled kernels are not installed: make native"
    )
    monkeypatch.setattr(native, name, value)
    assert choose() is PURE


def test_pure_kernels_leave_pages_questions_and_templates_to_their_callers() -> None:
    assert PURE.page_reader({}, 1).read(b"<p>x", False) == ""
    assert PURE.link_reader(1).read(b"", 1, str) is None
    assert PURE.template_space(b"", b"", b"", ()).distances(([], [], []), []) is None
