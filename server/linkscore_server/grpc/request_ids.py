"""The name of a call: what its client sees, its log lines say and an exemplar of its latency carries.

A client may give one of its own as metadata `x-request-id`; the server answers the same key in its trailing
metadata, whether the call succeeds or fails.
"""

from __future__ import annotations

import os
import re
from contextvars import ContextVar

KEY = "x-request-id"

_BYTES = 8
"""Of a made name: two of a billion calls are named alike with a chance of 3 %, and a log holds fewer."""

_GIVEN = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""Of a client. With a trace id and both keys it fits into the 128 characters of an exemplar (OpenMetrics)."""

_request_id: ContextVar[str] = ContextVar("request_id", default="")


def begin_request(given: str) -> str:
    """Name the call that the current task answers: as its client says, if that is usable, else anew."""
    name = given if _GIVEN.fullmatch(given) else os.urandom(_BYTES).hex()
    _request_id.set(name)
    return name


def request_id() -> str:
    """Return the name of the call that the current task answers."""
    return _request_id.get()
