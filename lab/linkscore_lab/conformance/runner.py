"""Plays scenarios with a driver."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linkscore_lab.conformance.driver import CallFailed, Driver, DriverBroken
from linkscore_lab.conformance.scenarios import Trial, Unmet, chosen

# One may be a scenario's doing; after so many the driver is what is wrong.
_ENOUGH_BREAKS = 3


@dataclass(frozen=True)
class Outcome:
    """How a scenario ended.

    Attributes
    ----------
    complaint
        What the client did wrong; empty if nothing.
    """

    scenario: str
    complaint: str
    took_s: float


def play(command: Sequence[str], names: tuple[str, ...] = ()) -> Iterator[Outcome]:
    """Start a driver and play scenarios with it, all of them unless some are named.

    A driver that breaks is started anew for the next scenario; one that breaks again and again is not.

    Raises
    ------
    KeyError
        There is no scenario of a name.
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
