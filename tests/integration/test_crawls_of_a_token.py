"""A token whose line says how many crawls it may have creates no more of them, however it asks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from linkscore import Client, errors
from linkscore_server.operator_files import digest_of
from support.server_process import serving


def test_of_forty_calls_at_a_time_no_more_create_a_crawl_than_may(tmp_path: Path) -> None:
    """Over four connections to two processes, each of which counts what the other made."""
    lines = [f"few write * sha256:{digest_of('few')} crawls=3", f"free write * sha256:{digest_of('free')}"]
    (tmp_path / "tokens").write_text("\n".join(lines))
    apart = [("grpc.use_local_subchannel_pool", 1)]

    def create(n: int) -> str:
        try:
            return few[n % 4].create_crawl(crawl=f"crawl-{n}").name
        except errors.ResourceExhausted as refused:
            told.append((refused.reason, "crawls of few are there" in str(refused)))
            return ""

    told: list[tuple[str, bool]] = []
    with (
        serving(tmp_path, "--token-file", str(tmp_path / "tokens"), "--workers", "2") as process,
        ExitStack() as stack,
    ):
        few = [
            stack.enter_context(Client(process.target, token="few", timeout_s=60, channel_options=apart))
            for _ in range(4)
        ]
        free = stack.enter_context(Client(process.target, token="free"))
        beside = stack.enter_context(ThreadPoolExecutor(40))
        made = sorted(filter(None, beside.map(create, range(40))))
        assert len(made) <= 3
        assert told == (40 - len(made)) * [("LIMIT_EXCEEDED", True)]
        assert sorted(crawl.name for crawl in free.list_crawls()) == made
        free.create_crawl(crawl="one-more")
        for n in range(3 - len(made)):
            assert few[0].create_crawl(crawl=f"late-{n}").name == f"crawls/late-{n}"
        with pytest.raises(errors.ResourceExhausted):
            few[0].create_crawl(crawl="too-many")
