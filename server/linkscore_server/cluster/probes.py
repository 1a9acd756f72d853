"""Processes of a cluster ask each other whether they are there, and have a dead one given up at once."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable

from linkscore_scoring.errors import LinkscoreError
from linkscore_server.cluster.metrics import ClusterMetrics
from linkscore_server.cluster.owners import ClusterOwners
from linkscore_server.routing.owners import Owner
from linkscore_server.storage.base import LogAway

EVERY_S = 0.25
"""Between two probes of a process. Chosen: two of them find a killed one within half a second."""
_ANSWER_S = 0.6
"""Longest wait for an answer, which takes milliseconds. Chosen: a snapshot holds up a process for some 40.
Who leaves out two has served nobody for a second and a half."""
_LATE_S = 0.5
"""Who needed so much longer than the answers may take was held up itself. Chosen."""
_MISSED = 2  # answers in a row: one may be bad luck
_WATCHED = 3
"""Processes that each one asks, the next ones by address: in a large cluster others ask the rest. Chosen."""
_log = logging.getLogger(__name__)


class PeerProbes:
    """Asks the next processes, and has the group give up one that leaves out two answers in a row.

    A wrong judgement costs a pause: the log has one writer in any case (ADR 22), and who was given up joins
    again. Three rules make it rare. Who was held up itself judges nobody; who reaches none of several was cut
    off itself; and nobody is given up twice within a session, or before it answered again.

    Parameters
    ----------
    owners
        All processes.
    session_s
        After which the group gives a process up by itself.
    evict
        Has the group give up a member; blocks. None: nobody can, so that the session has to end.
    metrics
        Where to count.
    """

    def __init__(
        self,
        owners: ClusterOwners,
        session_s: float,
        evict: Callable[[str], None] | None,
        metrics: ClusterMetrics,
    ) -> None:
        self._owners = owners
        self._session_s = session_s
        self._evict = evict
        self._metrics = metrics
        self._members: dict[str, str] = {}
        self._missed = Counter[str]()
        self._spared_until_s: dict[str, float] = {}
        if evict is None:
            _log.info("over this kind of SASL a server that fails keeps its slots for %g s", session_s)

    async def look(self) -> None:
        """Ask each once, and judge."""
        loop = asyncio.get_running_loop()
        began_s, watched = loop.time(), self._owners.next_ones(_WATCHED)
        answered = await asyncio.gather(*(self._answers(*each) for each in watched))
        if loop.time() - began_s > _ANSWER_S + _LATE_S:
            self._missed.clear()
            return
        silent = [address for (address, _), has in zip(watched, answered, strict=True) if not has]
        self._missed = Counter({address: self._missed[address] + 1 for address in silent})
        gone = [address for address, missed in self._missed.items() if missed >= _MISSED]
        self._metrics.peers_silent.set(len(gone))
        if len(watched) > len(silent) or len(watched) == 1:
            for address in gone:
                await self._give_up(address, loop.time())

    async def _answers(self, address: str, owner: Owner) -> bool:
        try:
            async with asyncio.timeout(_ANSWER_S):
                self._members[address] = (await owner.ask("probe")).get("member", "")
        except (LinkscoreError, TimeoutError) as exc:
            if self._missed[address] == _MISSED - 1:
                why = "; ".join(getattr(exc, "__notes__", [])) or f"no answer within {_ANSWER_S:g} s"
                _log.warning("server %s is not reached: %s", address, why)
            return False
        return True

    async def _give_up(self, address: str, now_s: float) -> None:
        member = self._members.get(address)
        if not member or self._evict is None or now_s < self._spared_until_s.get(address, now_s):
            return
        try:
            await asyncio.to_thread(self._evict, member)
        except LogAway as exc:
            _log.warning("server %s is gone, and keeps its slots for a session: %s", address, exc)
            return
        del self._members[address]
        self._spared_until_s[address] = now_s + self._session_s
        self._metrics.peers_evicted.inc()
        _log.warning("server %s is gone: the others get its slots", address)
