"""Processes that are forked with their libraries imported: of a small crawl or a server the imports are most.

What they do is what a new interpreter would do; those that are about a start begin one.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

PATIENCE_S = 500.0
"""A bound for a crawl that hangs, below that of pytest: on a busy machine one of seconds takes minutes."""

_SERVERS = ("linkscore_cli.main", "linkscore_server.app", "linkscore_server.front.workers")
_CRAWLS = ("linkscore.scrapy", "scrapy.crawler", "scrapy.core.downloader.handlers.http11")
multiprocessing.get_context("forkserver").set_forkserver_preload(
    [*_SERVERS, *_CRAWLS, "scrapy.extensions.feedexport", "linkscore_frontier.command"]
)


@atexit.register
def _end() -> None:
    """End what a test left behind: multiprocessing would wait for it, and the tests would never end."""
    for process in multiprocessing.active_children():
        process.kill()


class Forked(ForkServerProcess):
    """A process that calls a function and writes to files, with the methods of `subprocess.Popen`."""

    def __init__(self, call: Callable[..., Any], *arguments: Any, out: Path, log: Path) -> None:
        super().__init__(target=call, args=arguments)
        self._outputs = {1: out, 2: log}

    def run(self) -> None:
        for number, path in self._outputs.items():
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
        super().run()

    def send_signal(self, number: int) -> None:
        if self.pid and self.exitcode is None:  # afterwards the number may be that of another process
            os.kill(self.pid, number)

    def poll(self) -> int | None:
        return self.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self.join(timeout)
        if self.exitcode is None:
            raise subprocess.TimeoutExpired(self.name, timeout or 0)
        return self.exitcode


def command(arguments: Sequence[str]) -> None:
    """Run the command line, with no variable of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("LINKSCORE_")]:
        del os.environ[name]
    sys.argv[1:] = arguments
    from linkscore_cli.__main__ import main

    main()


class Script:
    """A script of Python that runs, with its arguments; `finish` waits for it."""

    def __init__(self, text: str, *arguments: str) -> None:
        self._folder = TemporaryDirectory()
        self._out, self.log = (Path(self._folder.name, name) for name in ("out", "log"))
        self._process = Forked(_script, text, arguments, out=self._out, log=self.log)
        self._process.start()
        self.send_signal = self._process.send_signal

    @property
    def runs(self) -> bool:
        return self._process.is_alive()

    def finish(self) -> tuple[int | None, str, str]:
        """Return the exit code, none if it hangs, and what it wrote to both outputs."""
        self._process.join(PATIENCE_S)
        code, out, log = self._process.exitcode, self._out.read_text(), self.log.read_text()
        self._process.kill()
        self._folder.cleanup()
        return code, out, log


def _script(text: str, arguments: Sequence[str]) -> None:
    sys.argv[1:] = arguments
    exec(compile(text, "script", "exec"), vars(sys.modules["__main__"]))
