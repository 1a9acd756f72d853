"""Policies from outside: the unexpected has the name of the policy, what is expected passes."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from linkscore_scoring.errors import InvalidInput, PolicyFailed
from linkscore_scoring.policies.base import Params, Policy
from linkscore_scoring.policies.baselines.breadth_first import BreadthFirst
from linkscore_scoring.policies.guard import guarded
from linkscore_scoring.policies.registry import builtin, policy_class, register


class Outside(BreadthFirst):
    """Fails as it is told to."""

    name = "toy_guarded"
    error: ClassVar[Exception | None] = None
    state: ClassVar[Any] = {}

    @classmethod
    def parts_of(cls, params: Any) -> list[Any]:
        raise RuntimeError("no parts")

    @property
    def trust(self) -> float:
        raise RuntimeError("no trust")

    def observe(self, page: Any, site: Any) -> None:
        if self.error is not None:
            raise self.error

    def to_state(self) -> dict[str, Any]:
        return self.state


GUARDED = guarded(Outside)


@pytest.fixture
def policy() -> Iterator[Any]:
    yield GUARDED(Params())
    Outside.error, Outside.state = None, {}


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), KeyError("x"), OSError(errno.ENOENT, "x")])
def test_what_nobody_expects_has_the_name_of_policy_and_method(policy: Any, error: Exception) -> None:
    Outside.error = error
    with pytest.raises(PolicyFailed, match=f"policy 'toy_guarded': observe raised {type(error).__name__}"):
        policy.observe(None, None)


@pytest.mark.parametrize("error", [InvalidInput("x"), MemoryError(), OSError(errno.EMFILE, "x")])
def test_errors_of_linkscore_and_of_a_machine_short_of_something_pass(policy: Any, error: Exception) -> None:
    Outside.error = error
    with pytest.raises(type(error)):
        policy.observe(None, None)


def test_class_methods_and_properties_are_named_too(policy: Any) -> None:
    with pytest.raises(PolicyFailed, match="parts_of raised RuntimeError: no parts"):
        GUARDED.parts_of(None)
    with pytest.raises(PolicyFailed, match="trust raised RuntimeError: no trust"):
        policy.trust  # noqa: B018


@pytest.mark.parametrize("state", [{"x": object()}, {1 << 70: 0}, object()])
def test_a_state_that_cannot_be_stored_is_the_policys_error(policy: Any, state: Any) -> None:
    Outside.state = state
    with pytest.raises(PolicyFailed, match="to_state raised"):
        policy.to_state()


def test_a_guarded_policy_is_named_as_it_was_and_registered_once() -> None:
    register(Outside)
    register(Outside)
    found = policy_class("toy_guarded")
    assert (found.__name__, found.__module__, found.__doc__) == ("Outside", __name__, Outside.__doc__)
    assert issubclass(found, Outside)


def test_no_policy_of_the_distribution_is_guarded() -> None:
    assert policy_class("breadth_first") is BreadthFirst
    assert not any(hasattr(kind.observe, "__wrapped__") for kind in builtin().values())


def test_policies_that_cannot_be_listed_now_are_an_error_and_are_found_the_next_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_descriptor(path: Any = ".") -> Any:
        raise OSError(errno.EMFILE, "Too many open files", str(path))

    known = builtin()
    builtin.cache_clear()
    try:
        with monkeypatch.context() as short:
            short.setattr(os, "listdir", no_descriptor)
            short.setattr(os, "scandir", no_descriptor)
            with pytest.raises(OSError, match="Too many open files"):
                builtin()
        assert builtin() == known
    finally:
        builtin.cache_clear()
        builtin()


def test_the_policies_found_are_those_of_all_modules() -> None:
    assert {"harvest", "auto", "breadth_first", "source_ucc", "tag_path_bandit"} <= set(builtin())
    assert all(issubclass(kind, Policy) for kind in builtin().values())
