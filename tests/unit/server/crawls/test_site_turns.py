"""Who has which sites: two who are to be alone are, whichever ends first."""

from __future__ import annotations

import asyncio

from linkscore_server.crawls.site_turns import SiteTurns


async def test_sites_are_taken_until_the_last_one_that_is_alone_has_ended() -> None:
    turns = SiteTurns(asyncio.Lock(), lambda: False)
    async with turns.alone():
        async with turns.alone():
            assert not turns.is_free("a")
        assert not turns.is_free("a")
    assert turns.is_free("a")


async def test_who_is_to_be_alone_waits_for_work_that_began_before() -> None:
    turns, seen = SiteTurns(asyncio.Lock(), lambda: False), list[str]()

    async def alone() -> None:
        async with turns.alone():
            seen.append("alone")

    async with turns.beside(["a"]):
        waiting = asyncio.create_task(alone())
        await asyncio.sleep(0)
        assert not turns.is_free("b")
        seen.append("beside")
    await waiting
    assert seen == ["beside", "alone"]
