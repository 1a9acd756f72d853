"""A console beside a demonstration, so that one can look while real Scrapy crawls."""

from __future__ import annotations

import subprocess
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from linkscore_lab.crawls.child import ChildFailed

_STOP_S = 10.0
"""Longest end of the console: a bound."""


@contextmanager
def watching(target: str, console: Console, *, keep: bool = True) -> Iterator[str]:
    """Serve the console of a server on loopback, and open it where there is a browser; gives its address."""
    command = [sys.executable, "-m", "linkscore_cli", "console", "--write", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen([*command, "--target", target], stderr=subprocess.PIPE, text=True)  # noqa: S603
    try:
        assert process.stderr is not None
        said = process.stderr.readline().strip()
        address = said.rpartition(" ")[2]
        if not address.startswith("http://"):
            raise ChildFailed(f"the console did not start: {said}{process.stderr.read()}")
        console.print(f"look at it: {address}", soft_wrap=True)
        webbrowser.open(address)
        yield address
        if keep:
            console.print(f"the console goes on at {address} until you press Ctrl-C", soft_wrap=True)
            process.wait()
    except KeyboardInterrupt:
        console.print("ended")
    finally:
        process.terminate()
        process.wait(_STOP_S)
        if process.stderr is not None:
            process.stderr.close()
