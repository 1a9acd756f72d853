"""Every panel of the dashboards shows something, asked of a real Prometheus that scrapes a server at work."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from linkscore import Client, page
from linkscore.v1 import link_scoring_service_pb2 as pb
from support.server_process import ServerProcess, serving
from support.small_site import HOST, body_of, url_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("prometheus"), reason="needs a prometheus"),
]
FILES = sorted((Path(__file__).parents[2] / "deploy/grafana").glob("*.json"))
_PATIENCE_S = 120.0
_ROUNDS, _EVERY_S = 12, 1.0
"""Rounds of calls and seconds between: rates need several scrapes."""


@contextmanager
def prometheus(metrics: str, folder: Path) -> Iterator[str]:
    """Run a Prometheus that scrapes an address every second; gives its own."""
    config = folder / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s}\nscrape_configs:\n"
        f"  - {{job_name: linkscore, static_configs: [{{targets: ['{metrics}']}}]}}\n"
    )
    command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
    command.append("--enable-feature=exemplar-storage")
    log = folder / "prometheus.log"
    with (
        log.open("w") as output,
        subprocess.Popen([*command, "--web.listen-address=127.0.0.1:0"], stderr=output) as process,
    ):
        try:
            yield _address(log)
        finally:
            process.terminate()


def _address(log: Path) -> str:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        for line in log.read_text().splitlines():
            if 'msg="Listening on" address=' in line:
                return line.rpartition("address=")[2].strip()
        time.sleep(0.2)
    raise AssertionError(log.read_text()[-2_000:])


def work(client: Client, n: int) -> None:
    """Do what a crawl does."""
    pages = [page(url=url_of(at), body=body_of(at)) for at in range(n * 30, n * 30 + 30)]
    links = client.ingest_pages(crawl="board", pages=pages).results[0].links
    client.rank_buckets(crawl="board", buckets=list(links.bucket_names))
    client.report_feedback(
        crawl="board",
        feedback=[pb.Feedback(url=url_of(n * 30 + at), relevant=at % 2 == 0) for at in range(10)],
    )
    client.suggest_examples(crawl="board", site=HOST)
    client.learn_site(crawl="board", site=HOST, timeout_s=60)


def results(address: str, query: str) -> list[dict[str, Any]]:
    """Return what a query finds now."""
    asked = urllib.parse.urlencode({"query": query})
    with urllib.request.urlopen(f"http://{address}/api/v1/query?{asked}") as answer:
        found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
    return found


@contextmanager
def scraped(folder: Path, *flags: str) -> Iterator[tuple[ServerProcess, str]]:
    """Run a server and a Prometheus that scrapes it; gives both."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (
        serving(folder / "server", "--metrics-listen", f"127.0.0.1:{port}", *flags) as server,
        prometheus(f"127.0.0.1:{port}", folder) as address,
    ):
        yield server, address


def test_no_panel_is_empty(tmp_path: Path) -> None:
    with (
        scraped(tmp_path, "--workers", "2") as (server, address),
        Client(server.target, timeout_s=60) as client,
    ):
        client.create_crawl(crawl="board")
        for n in range(_ROUNDS):
            work(client, n)
            time.sleep(_EVERY_S)
        time.sleep(2 * _EVERY_S)
        empty = []
        for file in FILES:
            for panel in json.loads(file.read_text())["panels"]:
                for target in panel["targets"]:
                    query = re.sub(r"\$(job|instance)", ".+", target["expr"])
                    found = results(address, query.replace("$__rate_interval", "1m"))
                    if all(one["value"][1] == "NaN" for one in found):
                        empty.append(f"{file.stem}: {panel['title']}: {target['expr']}")
        assert empty == []
