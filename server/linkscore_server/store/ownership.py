"""Which of several servers over one PostgreSQL has which shard.

A server is live while the connection that it writes by holds its advisory lock, and has beaten within some
seconds. A shard belongs to the live server whose address hashes highest with its name; one that must go
elsewhere is handed over by who has it, and taken over from one that is dead. That may be wrong for a moment:
safe is what servers write by the key of `event` alone (`Fenced`).
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from linkscore_scoring.hashing import hash64
from linkscore_server.store.base import Fenced, Session, StoreAway
from linkscore_server.store.schema import HIDDEN
from linkscore_server.store.store import Store

_log = logging.getLogger(__name__)

TICK_S = 0.5
"""Between two looks: a killed server's shards are elsewhere after one or two. Chosen, not measured."""
DEAD_S = 4.5
"""Without a beat for so long, a server is dead, though its connection is there: it is stopped, or its machine
is cut off. Chosen: the longest pause that was seen of one that lives took 1.6 s."""
_STUCK_S = 3.0
"""Longest call of the connection that writes before it is given up, for no beat goes by then. Chosen: below
`DEAD_S`."""
_FORGET_S = 3_600.0
"""After how long the row of a dead server is deleted. Chosen."""
_LOCK_TRIES, _LOCK_WAIT_S = 10, 0.1

_NOW = "extract(epoch FROM clock_timestamp())::float8"
_LOCK = "SELECT pg_try_advisory_lock(?)"
_JOIN = f"""
INSERT INTO server VALUES (?, ?, pg_backend_pid(), {_NOW}) ON CONFLICT (id)
DO UPDATE SET session = excluded.session, beat = excluded.beat
"""
_BEAT = f"UPDATE server SET beat = {_NOW} WHERE id = ?"
_SERVERS = f"""
SELECT id, address, session, {_NOW} - beat, EXISTS (
    SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (classid::bigint << 32) | objid::bigint = server.id)
FROM server
"""
_OWNERS = "SELECT name, owner, epoch, id FROM shard"
_OWNER = "SELECT owner FROM shard WHERE name = ?"
_TAKE = "UPDATE shard SET owner = ?, epoch = epoch + 1 WHERE name = ? AND epoch = ?"
_LEAVE = "UPDATE server SET address = '' WHERE id = ?"
_FORGET = "DELETE FROM server WHERE id = ?"
_END = "SELECT pg_terminate_backend(?)"


class Standing(NamedTuple):
    """Who has what, as of one look."""

    servers: Mapping[int, str]  # addresses of the live servers, by their numbers; empty of one that leaves
    owners: Mapping[str, int]  # number of the server that has a shard, by key; 0: none yet
    mine: frozenset[str] = frozenset()  # keys of the shards that this server has
    # Those of them that another one should have: finish what was taken in, then `Ownership.hand_over`.
    leaving: frozenset[str] = frozenset()
    # Those of them that another one had, or that were erased and made again, since the look before: what is
    # open of them is old.
    returned: frozenset[str] = frozenset()


class Ownership:
    """This server among those of one database. Its calls block; one at a time."""

    def __init__(self, store: Store, address: str) -> None:
        self._store, self._address = store, address
        self.number = 0
        self._epochs: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._had: dict[str, tuple[int, int]] = {}  # epochs and numbers of those that were this server's
        self._is_leaving = False
        store.writer.on_session = self._joined
        store.writer.bound(_STUCK_S)

    def tick(self) -> Standing:
        """Beat, take what is this server's, and return who has what; StoreAway, OSError: nobody knows."""
        self.beat()
        found = self.standing()
        servers, owners = found.servers, dict(found.owners)
        for key, owner in owners.items():
            if owner not in servers and self.best(key, servers) == self.number and self._take(key):
                owners[key] = self.number
        mine = frozenset(key for key, owner in owners.items() if owner == self.number)
        leaving = frozenset(key for key in mine if self.best(key, servers) != self.number)
        had, self._had = self._had, {key: (self._epochs[key], self._numbers[key]) for key in mine}
        returned = frozenset(key for key in mine if had.get(key, self._had[key]) != self._had[key])
        return Standing(servers, owners, mine, leaving, returned)

    def standing(self) -> Standing:
        """Return who has what, and change nothing; errors as of `tick`."""
        rows = [row for row in self._store.engine.rows(_OWNERS) if not row[0].startswith(HIDDEN)]
        self._epochs = {key: epoch for key, _, epoch, _ in rows}
        self._numbers = {key: number for key, _, _, number in rows}
        return Standing(self._live(), {key: owner for key, owner, _, _ in rows})

    @staticmethod
    def best(key: str, servers: Mapping[int, str]) -> int:
        """Return the number of the server that a shard should be with; 0 if there is none."""
        stay = [number for number, address in servers.items() if address]
        return max(stay, key=lambda number: hash64(f"{servers[number]} {key}"), default=0)

    def confirm(self, key: str) -> None:
        """Return if this server has a shard, as the database says now; StoreAway if another one has it."""
        found = self._store.engine.rows(_OWNER, (key,))
        if found and found[0][0] != self.number:
            raise StoreAway(f"crawl {key!r}: another server has these sites, try again")
        self.beat()  # a commit that is waited for: what was written before it is on the standby too

    def hand_over(self, key: str, to: int) -> None:
        """Let another server have a shard, which is closed here."""
        self._write(_TAKE, (to, key, self._epochs.get(key, -1)))

    def leave(self) -> Standing:
        """Get no shards any more; return who has what. What is here is to be handed over, then `forget`."""
        self._is_leaving = True
        self._write(_LEAVE, (self.number,))
        return self.standing()

    def forget(self) -> None:
        """Be no server any more."""
        self._write(_FORGET, (self.number,))

    def _joined(self, session: Session) -> None:
        """Take the lock by a new connection; with another number if the old one is not let go of."""
        if self._is_leaving:
            return
        tries = _LOCK_TRIES if self.number else 0
        while not (tries and session.rows(_LOCK, (self.number,))[0][0]):
            if tries <= 1:
                self.number, tries = secrets.randbits(62) | 1, 2
                continue
            tries -= 1
            time.sleep(_LOCK_WAIT_S)
        session.commit([(_JOIN, [(self.number, self._address)])])

    def beat(self) -> None:
        """Say that this server lives; errors as of `tick`."""
        self._store.writer.call(lambda session: session.commit([(_BEAT, [(self.number,)])])).result()

    def _live(self) -> dict[int, str]:
        """Return the live servers; one that holds its lock and does not beat has its connection ended."""
        live: dict[int, str] = {}
        for number, address, pid, silent_s, is_locked in self._store.engine.rows(_SERVERS):
            if is_locked and silent_s < DEAD_S:
                live[number] = address
            elif is_locked:
                _log.warning(
                    "server %s has not beaten for %.1f s, its connection is ended", address, silent_s
                )
                self._store.engine.rows(_END, (pid,))
            elif silent_s > _FORGET_S:
                self._write(_FORGET, (number,))
        # Of two with one address, one is a process that ended a moment ago.
        newest = {
            address: number for number, address in sorted(live.items(), key=lambda one: one[0] == self.number)
        }
        return {
            number: address for number, address in live.items() if not address or newest[address] == number
        }

    def _take(self, key: str) -> bool:
        with suppress(Fenced):
            self._write(_TAKE, (self.number, key, self._epochs[key]))
            found = self._store.engine.rows(_OWNER, (key,))
            if found and found[0][0] == self.number:
                self._epochs[key] += 1
                return True
        return False

    def _write(self, sql: str, values: tuple[object, ...]) -> None:
        self._store.writer.call(lambda session: session.commit([(sql, [values])])).result()
