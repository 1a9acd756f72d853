"""A Python module run as a child process: it greets with one line and ends when its standard input closes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from linkscore_scoring.errors import LinkscoreError


class ChildFailed(LinkscoreError):
    """A child process ended before it did its work; the message ends with what it said last."""


class Child:
    """A running module; a context manager that ends it."""

    def __init__(self, process: subprocess.Popen[str], name: str, log: Path | None) -> None:
        self._process, self._name, self._log = process, name, log
        self.greeting = self._out.readline().strip()
        if not self.greeting:
            self.stop()
            raise self._failure()

    @classmethod
    def start(cls, module: str, arguments: Sequence[str], log: Path | None = None) -> Self:
        """Run ``python -m module arguments`` and wait for its greeting.

        Standard error goes to `log`, else to ours. Raises `ChildFailed` when it ends without a greeting.
        """
        command = [sys.executable, "-m", module, *arguments]
        errors = log.open("w", encoding="utf-8") if log is not None else None
        try:
            process = subprocess.Popen(  # noqa: S603 - our own module
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
            )
        finally:
            if errors is not None:
                errors.close()
        return cls(process, module, log)

    @property
    def _out(self) -> IO[str]:
        assert self._process.stdout is not None
        return self._process.stdout

    def lines(self) -> Iterator[str]:
        """Yield what it prints after the greeting; raises `ChildFailed` if it ends with an error."""
        yield from self._out
        if self._process.wait() != 0:
            raise self._failure()

    def stop(self, patience_s: float = 10.0) -> None:
        """Close its standard input and wait; end it by signal when it does not go within `patience_s`."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._out.close()

    def _failure(self) -> ChildFailed:
        tail = self._log.read_text(encoding="utf-8", errors="replace")[-2000:] if self._log else "see above"
        return ChildFailed(f"{self._name} ended with status {self._process.returncode}: {tail}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def leave_with_parent() -> None:
    """End this process as soon as its standard input closes; call it at the start of a child's work."""

    def wait() -> None:
        sys.stdin.read()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
