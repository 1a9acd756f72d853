"""A server that cannot start says why; one that can serves on a Unix socket too."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from linkscore import Client
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore_server.operator_files import digest_of
from support.crawl_calls import CRAWL, create, described
from support.server_process import ServerProcess, serving, stubs

pytestmark = pytest.mark.long

SERVERS = [
    pytest.param((), id="alone"),
    pytest.param(("--workers", "2"), id="two"),
]


@pytest.mark.parametrize("workers", SERVERS)
def test_a_port_or_folder_in_use_is_one_plain_line_with_the_remedy(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    with serving(tmp_path / "first") as first:
        taken = {
            "choose another address (--listen)": ["--listen", first.target],
            "choose another address (--metrics-listen)": ["--metrics-listen", first.target],
            "name another folder": ["--data-dir", str(tmp_path / "first" / "data")],
        }
        for number, (remedy, flags) in enumerate(taken.items()):
            folder = tmp_path / str(number)
            with pytest.raises(AssertionError, match="the server did not start"):
                ServerProcess(folder, *workers, *flags)
            [line] = (folder / "server.log").read_text().splitlines()
            assert remedy in line
            assert "Traceback" not in line


@pytest.mark.parametrize("workers", SERVERS)
def test_a_server_says_when_it_has_stopped_and_where_all_is(tmp_path: Path, workers: tuple[str, ...]) -> None:
    with serving(tmp_path, *workers) as process:
        assert process.terminate() == 0
        last = process.records()[-1]["message"]
    assert last.startswith("stopped: all acknowledged pages are in")
    assert last.endswith(str(tmp_path / "data"))


def test_a_unix_socket_serves(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/s"
    with serving(tmp_path, "--listen", address) as process, stubs(address) as server:
        assert process.target == address
        create(server, CRAWL)
        assert described(server, CRAWL).page_count == 0


def test_sighup_takes_the_new_log_level_and_keeps_settings_that_cannot_work(tmp_path: Path) -> None:
    config = tmp_path / "linkscore.toml"
    config.write_text('log_level = "info"\n')

    def said(text: str, *lines: str) -> None:
        config.write_text("\n".join(lines))
        process.process.send_signal(signal.SIGHUP)
        while text not in process.log.read_text():
            time.sleep(0.05)

    with serving(tmp_path, "--config", str(config)) as process, stubs(process.target) as server:
        said("settings stay as they were: memory_mb: must be from 128", "memory_mb = 1")
        said("these change with the next start: max_crawls", "max_crawls = 7")
        assert server.crawls.ListCrawls(crawl_pb.ListCrawlsRequest()).crawls == []


def test_sighup_changes_nothing_when_the_file_of_tokens_is_wrong(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"ops admin * sha256:{digest_of('known-one-of-this-test')}\n")
    with serving(tmp_path, "--token-file", str(tokens)) as process:
        tokens.write_text("torn")
        process.process.send_signal(signal.SIGHUP)
        while "settings stay as they were: token_file: " not in process.log.read_text():
            time.sleep(0.05)
        with Client(process.target, token="known-one-of-this-test") as client:
            assert client.get_server_info().settings["token_file"] == str(tokens)
