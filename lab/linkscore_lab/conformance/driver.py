"""Talks to a driver: one JSON object a line to its standard input, one a line back.

A command has `call`, the arguments of that call, and perhaps `timeout_ms` (deadline of this call alone) or
`cancel_after_ms` (give it up after so long). An answer is ``{"ok": {...}}`` or ``{"error": {...}}``:

==============  ==================================================  =========================================
`call`          arguments                                           `ok`
==============  ==================================================  =========================================
connect         target; token, token_file, timeout_ms; ca, cert,    {}, without asking the server; what was
                key (paths of PEM files: TLS)                       connected before is closed
ensure          crawl; policy (a name)                              {}
ingest          crawl, pages: url, final_url, status, body,         links: a list for each page, of url,
                body_bytes (make a body of so many), ticket         score, bucket, value, ticket, usable,
                                                                    in_scope
failed          crawl, url, status, error, ticket                   {}
rank            crawl, buckets                                      values, by bucket
reward          crawl, url, ticket, worth                           {}
close           -                                                   {}
==============  ==================================================  =========================================

What is left out is left to the client. Tickets are written as base64url without padding. An error has `code`
(the number of the gRPC status), `reason`, `retry_after_ms`, `violations` (field, description) and `metadata`.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
from collections.abc import Sequence
from typing import Any, Self

# Beyond every deadline of the scenarios, retries and start-up of a virtual machine included.
_ANSWER_WITHIN_S = 90.0
# A driver whose standard input ended has nothing left to do: chosen, many times what any took.
_LEAVE_WITHIN_S = 10.0


class DriverBroken(Exception):
    """The driver ended, said something that is not an answer, or said nothing for too long."""


class CallFailed(Exception):
    """The client raised an error; its parts as the driver gave them."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"the client raised {error}")
        self.code = int(error.get("code", -1))
        self.reason = str(error.get("reason", ""))
        self.retry_after_ms = float(error.get("retry_after_ms", 0))
        self.violations: list[dict[str, str]] = error.get("violations", [])
        self.metadata: dict[str, str] = error.get("metadata", {})


class Driver:
    """A running driver."""

    def __init__(self, command: Sequence[str]) -> None:
        try:
            self._process = subprocess.Popen(  # noqa: S603 - what the caller asks to start
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
        except OSError as exc:
            raise DriverBroken(f"cannot start {command[0]}: {exc}") from exc
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # of one that has left already
            self._process.stdin.close()  # the sign to leave
        try:
            self._process.wait(_LEAVE_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(_LEAVE_WITHIN_S)

    @property
    def pid(self) -> int:
        """Process id of the program."""
        return self._process.pid

    def call(self, call: str, **arguments: Any) -> dict[str, Any]:
        """Have the client make a call; raises `CallFailed` if it raised."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"call": call, **arguments}) + "\n")
            self._process.stdin.flush()
            said = json.loads(self._lines.get(timeout=_ANSWER_WITHIN_S))
        except queue.Empty:
            raise DriverBroken(f"no answer to {call} within {_ANSWER_WITHIN_S:.0f} s") from None
        except (OSError, ValueError) as exc:
            raise DriverBroken(f"no JSON answer to {call}, the driver may have ended: {exc}") from exc
        if "error" in said:
            raise CallFailed(said["error"])
        answer: dict[str, Any] = said["ok"]
        return answer

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as said:
            for line in said:
                self._lines.put(line)
        self._lines.put("")
