"""What several clients saw of one crawl, held against what a crawl that loses nothing could have shown them.

A write whose answer never came is indeterminate: from the moment it was sent it may have happened, and it
need never have. Only real time is compared: what ended before something else began came before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise


class Outcome(Enum):
    """How a call ended."""

    DONE = "done"
    """Answered: a write took place now, a read has figures."""
    AGAIN = "again"
    """A write was answered as a duplicate: it took place before."""
    REFUSED = "refused"
    """It did not take place."""
    UNKNOWN = "unknown"
    """Nobody knows: there was no answer, or one that does not say."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a client.

    Attributes
    ----------
    began, ended
        Seconds of one clock.
    kind
        What is counted: ``page`` or ``feedback``; of a read, ``read``.
    write
        Identity of what is written, the same when it is sent again.
    seq
        Number of the last event that the answer knows of; 0 if it says none.
    counts
        Of a read: how many writes of each kind there are.
    """

    client: int
    began: float
    ended: float
    kind: str
    outcome: Outcome
    write: str = ""
    seq: int = 0
    counts: tuple[tuple[str, int], ...] = ()


def violations(history: Sequence[Call]) -> list[str]:
    """Return what no crawl that loses and doubles nothing could have answered, a line each."""
    calls = sorted(history, key=lambda call: call.began)
    return [*_of_writes(calls), *_of_order(calls), *_of_counts(calls), *_of_states(calls)]


def _of_writes(calls: list[Call]) -> Iterator[str]:
    """Yield writes that took place twice, and duplicates of nothing."""
    attempts: dict[str, list[Call]] = {}
    for call in calls:
        if call.write:
            attempts.setdefault(call.write, []).append(call)
    for write, found in attempts.items():
        done = [call for call in found if call.outcome is Outcome.DONE]
        for first, second in pairwise(done):
            yield f"{write} took place twice: {first} and {second}"
        for call in found:
            before = [other for other in found if other is not call and other.began <= call.ended]
            if call.outcome is Outcome.AGAIN and all(o.outcome is Outcome.REFUSED for o in before):
                yield f"{write} is a duplicate of nothing: {call}"
            later = [other for other in found if other.began >= call.ended]
            if call.outcome in (Outcome.DONE, Outcome.AGAIN):
                yield from (
                    f"{write} was lost: {call}, and then {other}"
                    for other in later
                    if other.outcome is Outcome.DONE and call.outcome is Outcome.AGAIN
                )


def _of_order(calls: list[Call]) -> Iterator[str]:
    """Yield answers that know of fewer events than one that came before they were asked for."""
    answered = sorted((call for call in calls if call.seq), key=lambda call: call.ended)
    best, at = None, 0
    for call in (call for call in calls if call.seq):
        while at < len(answered) and answered[at].ended < call.began:
            if best is None or answered[at].seq > best.seq:
                best = answered[at]
            at += 1
        if best is not None and call.seq < best.seq:
            yield f"went back from event {best.seq} to {call.seq}: {best}, and then {call}"


def _of_counts(calls: list[Call]) -> Iterator[str]:
    """Yield reads that miss what was acknowledged before them, or count what nobody had sent."""
    certain: dict[str, float] = {}
    possible: dict[str, float] = {}
    kinds: dict[str, str] = {}
    for call in calls:
        if call.write and call.outcome is not Outcome.REFUSED:
            kinds[call.write] = call.kind
            possible[call.write] = min(possible.get(call.write, math.inf), call.began)
            if call.outcome is not Outcome.UNKNOWN:
                certain[call.write] = min(certain.get(call.write, math.inf), call.ended)
    for call in calls:
        for kind, count in call.counts:
            least = sum(at < call.began for write, at in certain.items() if kinds[write] == kind)
            most = sum(at < call.ended for write, at in possible.items() if kinds[write] == kind)
            if not least <= count <= most:
                yield f"{count} of kind {kind}, where {least} to {most} can be: {call}"


def _of_states(calls: list[Call]) -> Iterator[str]:
    """Yield reads of other figures after the same event."""
    known: dict[int, Call] = {}
    for call in calls:
        if call.counts and call.seq:
            first = known.setdefault(call.seq, call)
            if first.counts != call.counts:
                yield f"two states after event {call.seq}: {first} and {call}"
