"""Logs on standard error: JSON lines, or text for people at a terminal."""

from __future__ import annotations

import json
import logging
import sys
import time

from linkscore_scoring.errors import LinkscoreError

_TEXT = "%(asctime)s %(levelname)s %(message)s"


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
