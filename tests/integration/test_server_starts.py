"""A server that cannot start says why; one that can serves on a Unix socket too."""

from __future__ import annotations

from pathlib import Path

import pytest

from life_crawl import create, page_count
from server_process import ServerProcess, serving, stubs


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--listen", "no-port"], "listen: must be host:port"),
        (["--listen", ""], "listen: must be host:port"),
        (["--metrics-listen", "unix:/x"], "metrics_listen: must be host:port"),
        (["--max-links", "many"], "max_links: must be a int"),
        (["--drain-s", "nan"], "drain_s: must be > 0"),
        (["--tls-cert", "/no/such"], "tls_cert: "),
        (["--token-file", "/dev/null"], "token_file: "),
        (["--listen", "192.0.2.1:7411"], "192.0.2.1:7411"),
    ],
)
def test_a_server_that_cannot_start_says_why_and_exits_with_1(
    tmp_path: Path, flags: list[str], said: str
) -> None:
    with pytest.raises(AssertionError) as caught:
        ServerProcess(tmp_path, *flags)
    assert said in str(caught.value)


def test_an_empty_token_file_does_not_switch_the_token_off(tmp_path: Path) -> None:
    empty = tmp_path / "token"
    empty.write_text("\n")
    with pytest.raises(AssertionError, match=r"token_file: .*has no token"):
        ServerProcess(tmp_path, "--token-file", str(empty))


def test_a_unix_socket_serves(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/s"
    with serving(tmp_path, "--listen", address) as process, stubs(address) as server:
        assert process.target == address
        create(server)
        assert page_count(server) == 0
