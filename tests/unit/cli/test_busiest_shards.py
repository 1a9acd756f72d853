"""`linkscore crawls shards --busiest`: those with most events a second, and every process that is silent."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore_cli.connection import Connection
from support.command_line import run

SILENT = pb.Shard(owner="worker 7", state=pb.SHARD_STATE_SILENT, trouble="it starts again")


def shard(group: int) -> pb.Shard:
    return pb.Shard(
        crawl="crawls/books",
        group=group,
        group_count=9,
        state=pb.SHARD_STATE_OPEN,
        events_per_s=1.5 * group,
        bytes_per_s=2e6,
        delay_s=0.012,
    )


@pytest.mark.parametrize("most", [1, 3, 20])
def test_the_busiest_come_first_and_silence_is_said(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [shard(group) for group in range(9)]
    random.Random(most).shuffle(rows)

    class Client:
        def __enter__(self) -> Any:
            return SimpleNamespace(list_shards=lambda crawl: [SILENT, *rows])

        def __exit__(self, *error: object) -> None: ...

    monkeypatch.setattr(Connection, "client", lambda self, timeout_s: Client())
    got = run("crawls", "shards", "--busiest", str(most))
    lines = [line.split() for line in got.output.splitlines()]
    assert [line[1] for line in lines if line[:1] == ["books"]] == [f"{n}/9" for n in range(8, -1, -1)][:most]
    assert "12.0 2.0 MB 12 ms" in " ".join(lines[2])
    assert (got.exit_code, lines[1][:2]) == (1, ["worker", "7"])
