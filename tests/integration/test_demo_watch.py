"""`linkscore demo --watch`: a console beside the demonstration."""

from __future__ import annotations

import io
import urllib.request
from pathlib import Path

import pytest
from rich.console import Console

from linkscore import Client
from linkscore_lab.crawls import servers as room
from support.server_process import serving


def test_the_console_is_served_and_opened_while_the_demonstration_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, output = [], io.StringIO()
    monkeypatch.setattr(room.webbrowser, "open", opened.append)
    with serving(tmp_path) as server:
        with Client(server.target) as client:
            client.create_crawl(crawl="demo")
        with (
            room.watching(server.target, Console(file=output, width=200), keep=False) as address,
            urllib.request.urlopen(address) as answer,
        ):
            page = answer.read().decode()
    assert opened == [address]
    assert f"look at it: {address}" in output.getvalue()
    assert "/crawls/demo" in page
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address)
