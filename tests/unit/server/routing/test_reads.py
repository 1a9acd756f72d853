"""That a call asks for the current state goes with it to the process that has the shard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore_server.crawls.reads import CURRENT, reads, set_reads
from linkscore_server.routing.owners import Owners
from linkscore_server.routing.peer_calls import server_for_peers
from linkscore_server.routing.peers import Peer


class Saying:
    """An owner that says what calls ask of reads."""

    async def call(self, method: str, request: Any, context: Any) -> pb.GetCrawlResponse:
        return pb.GetCrawlResponse(server_version=reads())

    async def ask(self, question: str) -> dict[str, Any]:
        return {"reads": reads()}


@pytest.mark.parametrize("asked", ["", CURRENT])
async def test_calls_and_questions_say_what_their_call_asked(tmp_path: Path, asked: str) -> None:
    owner: Any = Saying()
    address = f"unix:{tmp_path}/owner"
    server, _ = server_for_peers(address, owner, owner, Owners([owner]), 1 << 20)
    await server.start()
    peer = Peer(address, 1 << 20)
    set_reads(asked)
    try:
        answer = await peer.call("CrawlService/GetCrawl", pb.GetCrawlRequest(), None)
        said = await peer.ask("bids")
    finally:
        await peer.close()
        await server.stop(0)
    assert (answer.server_version, said["reads"]) == (asked, asked)
