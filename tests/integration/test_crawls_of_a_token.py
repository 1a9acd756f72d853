"""A token whose line says how many crawls it may have creates no more of them, however it asks."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from linkscore import Client, errors
from linkscore_server.tokens import digest_of
from support.server_process import ServerProcess, serving


@pytest.fixture
def process(tmp_path: Path) -> Iterator[ServerProcess]:
    lines = [f"few write * sha256:{digest_of('few')} crawls=3", f"free write * sha256:{digest_of('free')}"]
    (tmp_path / "tokens").write_text("\n".join(lines))
    with serving(tmp_path, "--token-file", str(tmp_path / "tokens")) as process:
        yield process


def test_of_forty_calls_at_a_time_as_many_create_a_crawl_as_may(process: ServerProcess) -> None:
    def create(n: int) -> str:
        try:
            return few.create_crawl(crawl=f"crawl-{n}").name
        except errors.ResourceExhausted as refused:
            told.append((refused.reason, "crawls of few are there" in str(refused)))
            return ""

    told: list[tuple[str, bool]] = []
    with Client(process.target, token="few", timeout_s=60) as few, ThreadPoolExecutor(40) as beside:
        made = sorted(filter(None, beside.map(create, range(40))))
        assert len(made) == 3
        assert told == 37 * [("LIMIT_EXCEEDED", True)]
        assert few.ensure_crawl(crawl=made[0]).name == made[0]
    with Client(process.target, token="free") as free:
        assert sorted(crawl.name for crawl in free.list_crawls()) == made
        free.create_crawl(crawl="one-more")
