"""The shards of all processes, one row each: who has it, what it takes, and what a restart would replay."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore_scoring.engine.groups import Shard
from linkscore_scoring.errors import InvalidInput, LinkscoreError
from linkscore_server.front.owners import Owner, Owners
from linkscore_server.services.messages import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, check_most, parse_crawl


async def list_shards(
    owners: Owners, request: pb.ListShardsRequest, may_touch: Callable[[str], bool]
) -> pb.ListShardsResponse:
    """List shards by crawl and group; before them, on the first page, each process that does not answer.

    Raises InvalidInput if crawl, page size or token is not one.
    """
    size, after = _page(request)
    crawl = parse_crawl(request.crawl) if request.crawl else ""
    named = owners.named()
    said = await asyncio.gather(*(_asked(*one, "shards") for one in named))
    silent = [answer for answer in said if isinstance(answer, pb.Shard)]
    there = [
        (shard, number)
        for number, answer in enumerate(said)
        if not isinstance(answer, pb.Shard)
        for shard in map(Shard.of, answer["keys"])
        if crawl in ("", shard.crawl) and may_touch(shard.crawl) and (after is None or shard > after)
    ]
    page = sorted(there)[:size]
    rows = await _rows(named, page)
    return pb.ListShardsResponse(
        shards=rows if after else silent + rows,
        next_page_token=page[-1][0].key if page and len(page) < len(there) else "",
    )


def _page(request: pb.ListShardsRequest) -> tuple[int, Shard | None]:
    """Return how many shards are asked for, and the one after which they begin."""
    check_most("page_size", request.page_size, MAX_PAGE_SIZE)
    try:
        after = Shard.of(request.page_token) if request.page_token else None
    except ValueError:
        raise InvalidInput("must be the next_page_token of a call before", field="page_token") from None
    return request.page_size or DEFAULT_PAGE_SIZE, after


async def _rows(named: Sequence[tuple[str, Owner]], page: Sequence[tuple[Shard, int]]) -> list[pb.Shard]:
    """Return the rows of shards by who has them; a process that fell silent has one row for all of its."""
    keys: dict[int, list[str]] = defaultdict(list)
    for shard, number in page:
        keys[number].append(shard.key)
    said = await asyncio.gather(
        *(_asked(*named[number], "standing", keys=asked) for number, asked in keys.items())
    )
    rows = []
    for answer, number in zip(said, keys, strict=True):
        if isinstance(answer, pb.Shard):
            rows.append(answer)
            continue
        for row in map(pb.Shard.FromString, answer["rows"]):
            row.owner, _ = named[number]
            rows.append(row)
    return sorted(rows, key=lambda row: (row.crawl, row.group))


async def _asked(name: str, owner: Owner, question: str, **values: Any) -> dict[str, Any] | pb.Shard:
    """Ask a process; if it does not answer, return the row that says so."""
    try:
        return await owner.ask(question, **values)
    except LinkscoreError as exc:
        return pb.Shard(owner=name, state=pb.SHARD_STATE_SILENT, trouble=str(exc))
