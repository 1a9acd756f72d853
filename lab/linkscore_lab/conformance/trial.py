"""A scenario being played: a driver, servers that end with the scenario, what it checks, how it ended."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import grpc

from linkscore_lab.conformance.driver import CallFailed, Driver, DriverBroken
from linkscore_lab.conformance.fake import FakeServer, Relay

PAGE = "http://a.test/"
"""The page scenarios send when it does not matter which."""

# One may be a scenario's doing; after so many the driver is what is wrong.
_ENOUGH_BREAKS = 3


class Unmet(Exception):
    """A client did not do what a scenario asks."""


class Trial:
    """What a scenario works with: a driver, and servers that end with the scenario."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._cleanup = contextlib.ExitStack()
        self.folder = Path(self._cleanup.enter_context(tempfile.TemporaryDirectory()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._cleanup.close()

    def serve(self, **options: Any) -> FakeServer:
        """Start a server."""
        return self._cleanup.enter_context(FakeServer(**options))

    def connected(self, **options: Any) -> FakeServer:
        """Start a server in plain text and connect the client to it."""
        server = self.serve()
        self.call("connect", target=server.target, **options)
        return server

    def relay(self, server: FakeServer) -> Relay:
        """Put a relay before a server."""
        return self._cleanup.enter_context(Relay(server.port))

    def call(self, call: str, **arguments: Any) -> dict[str, Any]:
        """Have the client make a call that must be answered."""
        if call not in ("connect", "close"):
            arguments.setdefault("crawl", "x")
        try:
            return self.driver.call(call, **arguments)
        except CallFailed as exc:
            raise Unmet(f"{call} failed: {exc}") from exc

    def rank(self, **arguments: Any) -> dict[str, float]:
        """Ask for the values of two buckets."""
        values: dict[str, float] = self.call("rank", buckets=["bad", "good"], **arguments)["values"]
        return values

    def fails(self, call: str, *codes: grpc.StatusCode, **arguments: Any) -> CallFailed:
        """Have the client make a call that must fail with one of these codes."""
        arguments.setdefault("crawl", "x")
        try:
            answer = self.driver.call(call, **arguments)
        except CallFailed as exc:
            wanted = [code.value[0] for code in codes]
            if exc.code not in wanted:
                raise Unmet(f"{call} failed with code {exc.code}, not {wanted}") from exc
            return exc
        raise Unmet(f"{call} was answered ({answer}), it had to fail with {[c.name for c in codes]}")

    def rank_fails(self, *codes: grpc.StatusCode, **arguments: Any) -> CallFailed:
        """Ask for the values of buckets, which must fail."""
        return self.fails("rank", *codes, buckets=["bad", "good"], **arguments)


Scenario = Callable[[Trial], None]
SCENARIOS: dict[str, Scenario] = {}
"""By name, in the order they are played: functions whose docstrings say what must hold."""


def scenario(play: Scenario) -> Scenario:
    """Add a scenario to the list, under the name of its function."""
    SCENARIOS[play.__name__] = play
    return play


def same(what: str, got: Any, wanted: Any) -> None:
    """Check that two values are equal."""
    if got != wanted:
        raise Unmet(f"{what}: {got!r}, expected {wanted!r}")


def holds(condition: bool, complaint: str) -> None:
    """Check a condition."""
    if not condition:
        raise Unmet(complaint)


def chosen(names: tuple[str, ...]) -> Iterator[tuple[str, Scenario]]:
    """Give the scenarios of these names, all without any."""
    yield from ((name, SCENARIOS[name]) for name in names or SCENARIOS)


@dataclass(frozen=True)
class Outcome:
    """How a scenario ended."""

    scenario: str
    complaint: str  # What the client did wrong; empty if nothing
    took_s: float


def play(command: Sequence[str], names: tuple[str, ...] = ()) -> Iterator[Outcome]:
    """Start a driver and play scenarios with it, all of them unless some are named.

    A driver that breaks is started anew for the next scenario; one that breaks again and again is not.
    """
    with contextlib.ExitStack() as running:
        driver: Driver | None = None
        breaks = 0
        for name, scenario in chosen(names):
            began, complaint = time.monotonic(), ""
            if breaks >= _ENOUGH_BREAKS:
                yield Outcome(name, "not played: the driver broke too often", 0.0)
                continue
            try:
                driver = driver or running.enter_context(Driver(command))
                with Trial(driver) as trial:
                    scenario(trial)
                    driver.call("close")
            except Unmet as exc:
                complaint = str(exc)
            except LookupError as exc:
                complaint = f"a call or a part of an answer is missing: {exc!r}"
            except (CallFailed, DriverBroken) as exc:
                complaint = str(exc)
                driver = None
                breaks += 1
            yield Outcome(name, complaint, time.monotonic() - began)
