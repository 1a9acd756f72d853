"""Whether a call asks for the current state: with every event acknowledged before it, by whichever process.

Where one process has a crawl for good, each answer is current. Where crawls go from one process to another,
one that was held up may not know yet that it has a crawl no more, and answers as of then; a call that must
not be answered so says ``current`` in the metadata `KEY`. See ADR 37.
"""

from __future__ import annotations

from contextvars import ContextVar

from linkscore_scoring.errors import InvalidInput

KEY, CURRENT = "x-linkscore-read", "current"

_asked: ContextVar[str] = ContextVar("reads", default="")


def set_reads(asked: str) -> None:
    """Note what the call that the current task answers says of its reads, empty if nothing."""
    _asked.set(asked)


def reads() -> str:
    """Return what the call that the current task answers says of its reads."""
    return _asked.get()


def must_be_current() -> bool:
    """Say whether the call that the current task answers asks for the current state."""
    asked = _asked.get()
    if asked not in ("", CURRENT):
        raise InvalidInput(f"must be {CURRENT!r}, or left out", field=KEY)
    return asked == CURRENT
