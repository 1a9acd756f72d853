"""Logs on standard error, JSON lines or text at a terminal, and the names that tell calls apart."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import time
from contextvars import ContextVar

from linkscore_scoring.errors import LinkscoreError

REQUEST_ID = "x-request-id"
"""Metadata by which a client may name its call, and trailing metadata that names every call."""
_NAME_BYTES = 8
"""Of a made name: two of a billion calls are named alike with a chance of 3 %, and a log holds fewer."""
_GIVEN = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""Of a client. With its key it fits into the 128 characters of an exemplar (OpenMetrics)."""
_TEXT = "%(asctime)s %(levelname)s %(message)s"

_request_id: ContextVar[str] = ContextVar("request_id", default="")


def begin_request(given: str) -> str:
    """Name the call that the current task answers: as its client says, if that is usable, else anew."""
    name = given if _GIVEN.fullmatch(given) else os.urandom(_NAME_BYTES).hex()
    _request_id.set(name)
    return name


def request_id() -> str:
    """Return the name of the call that the current task answers."""
    return _request_id.get()


class JsonFormatter(logging.Formatter):
    """One JSON object per record: time (UTC), level, logger, message, a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        made = time.gmtime(record.created)
        entry: dict[str, object] = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', made)}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def set_up(level: str) -> None:
    """Send all records of `level` and above to standard error: as JSON lines, on a terminal as text."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(_TEXT) if sys.stderr.isatty() else JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def log_failed_start(error: Exception) -> None:
    """Say why the server does not start or went down; a traceback is for what nobody expects."""
    is_expected = isinstance(error, (LinkscoreError, OSError))
    logging.getLogger(__name__).critical(
        "the server stops: %s", error, exc_info=None if is_expected else error
    )
