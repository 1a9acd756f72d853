"""States of sites in a file here, and their checkpoints on the brokers, for whoever takes the log over."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import msgpack

from linkscore_scoring.errors import CorruptState
from linkscore_server.storage.base import LogAway
from linkscore_server.storage.kafka.counts import Counts
from linkscore_server.storage.kafka.snapshots import Checkpoint, Checkpoints, Cut, Part, Version
from linkscore_server.storage.sites import SiteStates

_log = logging.getLogger(__name__)

_MOST_PARTS = 32
"""Parts of a site on the brokers, from which on its next one is its whole state: a checkpoint names them all.
Chosen."""
_CHANGES_SINCE = "SELECT events FROM changes WHERE place = ? AND number >= ? ORDER BY number"
_SHARED = """
CREATE TABLE IF NOT EXISTS shared (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER, seq INTEGER)
"""
"""Which checkpoint on the brokers the file has, or had: versions that do not know the table go on to
checkpoints of other numbers and leave it as it is."""


class SharedStates(SiteStates):
    """The states of sites of a log on brokers; `share` is called in turn with all that puts and commits.

    Parameters
    ----------
    path
        The file.
    checkpoints
        Those on the brokers.
    counts
        Where to count.
    """

    def __init__(self, path: Path, checkpoints: Checkpoints, counts: Counts) -> None:
        self._checkpoints = checkpoints
        self._counts = counts
        # Places of sites of which the newest checkpoint on the brokers is behind, and the first part of their
        # changes that it lacks; None: it lacks the state.
        self._changed: dict[int, int | None] = {}
        self._unshared: tuple[int, bytes] | None = None
        self._sharing: Generator[None, None, None] | None = None
        super().__init__(path)
        try:
            self._catch_up()
        except BaseException:
            self.close()
            raise

    def put(self, place: int, name: str, facts: bytes, state: bytes) -> None:
        """See `SiteStates.put`."""
        self._stop_sharing()
        super().put(place, name, facts, state)
        self._changed[place] = None

    def add(self, place: int, name: str, facts: bytes, events: Sequence[bytes]) -> None:
        """See `SiteStates.add`."""
        self._stop_sharing()
        if place not in self._changed:
            self._changed[place] = self._change_count(place)
        super().add(place, name, facts, events)

    def commit(self, seq: int, core: bytes) -> None:
        """See `SiteStates.commit`."""
        self._stop_sharing()
        super().commit(seq, core)
        self._unshared = seq, core

    def share(self, is_owner: Callable[[], bool]) -> bool:
        """Go on writing the newest checkpoint to the brokers; says whether that is done, or given up.

        Parameters
        ----------
        is_owner
            Says whether nobody else has the log by now; blocks.
        """
        if self._sharing is None:
            if self._unshared is None:
                return True
            self._sharing, self._unshared = self._shared(*self._unshared, is_owner), None
        sharing, self._sharing = self._sharing, None
        try:
            next(sharing)
        except StopIteration:
            return True
        except (OSError, CorruptState) as exc:
            self._counts.checkpoint_failures += 1
            _log.warning("%s: a snapshot is not there for others: %s", self._checkpoints.name, exc)
            return True
        self._sharing = sharing
        return False

    def clear(self) -> None:
        """See `SiteStates.clear`; the next checkpoint on the brokers has all sites anew."""
        super().clear()  # which closes it
        self._changed.clear()
        self._checkpoints.forget()

    def close(self) -> None:
        """See `SiteStates.close`."""
        self._stop_sharing()
        super().close()

    def _shared(self, seq: int, core: bytes, is_owner: Callable[[], bool]) -> Generator[None, None, None]:
        rows = (self._part(place, since) for place, since in sorted(self._changed.items()))
        version = yield from self._checkpoints.write(Cut(seq, core, rows, self._part), is_owner)
        self._changed.clear()
        self._note(version)
        self._counts.checkpoints += 1

    def _stop_sharing(self) -> None:
        """Give the newest checkpoint up: its sites are about to change, and the next one has them."""
        sharing, self._sharing, self._unshared = self._sharing, None, None
        if sharing is not None:
            sharing.close()

    def _catch_up(self) -> None:
        """Take over the newest checkpoint on the brokers if it is newer than the file."""
        base = None
        try:
            base = self._caught_up()
        except LogAway as exc:
            _log.warning("%s: cannot be read, more of the log is replayed: %s", self._checkpoints.name, exc)
        if not self._checkpoints.go_on_from(base):
            base = None
        # A file without a checkpoint has no sites, and is not made before it is needed.
        if self.seq and (base is None or self._version() != base.version or self.seq != base.version.seq):
            self._changed = dict.fromkeys(range(self._count()))

    def _caught_up(self) -> Checkpoint | None:
        for checkpoint in self._checkpoints.whole():
            if checkpoint.version.seq <= self.seq:
                return checkpoint
            try:
                self._take(checkpoint)
            except CorruptState as exc:
                _log.warning("%s: %s: it is passed over", self._checkpoints.name, exc)
            else:
                return checkpoint
        return None

    def _take(self, checkpoint: Checkpoint) -> None:
        """Make a checkpoint that of the file, or leave the file as it is."""
        try:
            with self._writing() as con:
                con.execute("DELETE FROM sites")
                con.execute("DELETE FROM states")
                con.execute("DELETE FROM changes")
            has_state: set[int] = set()
            for place, body in self._checkpoints.states(checkpoint):
                try:
                    name, facts, state, *changes = msgpack.unpackb(body)
                    if state is not None:
                        self._put_packed(place, name, facts, state)
                        has_state.add(place)
                    elif place not in has_state:
                        raise ValueError("changes of no state")
                    self._add_packed(place, name, facts, changes)
                except (ValueError, TypeError) as exc:
                    raise CorruptState(
                        f"snapshot of event {checkpoint.version.seq}: site {place}: {exc}"
                    ) from exc
            super().commit(checkpoint.version.seq, checkpoint.core)
        except BaseException:
            self.roll_back()
            raise
        self._note(checkpoint.version)
        self._counts.checkpoints_taken += 1

    def _part(self, place: int, since: int | None = None) -> Part:
        """Return what is kept of a site: from a part of its changes on, or its state and all of them."""
        is_added = since is not None and self._checkpoints.parts(place) < _MOST_PARTS
        with self._reading("site"), self._lock:
            con = self._connection()
            name, facts = con.execute("SELECT name, facts FROM sites WHERE place = ?", (place,)).fetchone()
            state = None
            if not is_added:
                (state,) = con.execute("SELECT state FROM states WHERE place = ?", (place,)).fetchone()
            changes = con.execute(_CHANGES_SINCE, (place, since if is_added else 0))
            body: bytes = msgpack.packb([name, facts, state, *(packed for (packed,) in changes)])
        return Part(place, body, is_added)

    def _change_count(self, place: int) -> int:
        with self._reading("site"), self._lock:
            found = self._connection().execute("SELECT count(*) FROM changes WHERE place = ?", (place,))
            return int(found.fetchone()[0])

    def _count(self) -> int:
        with self._reading("sites"), self._lock:
            return int(self._connection().execute("SELECT count(*) FROM sites").fetchone()[0])

    def _version(self) -> Version | None:
        """Return which checkpoint on the brokers the file has, if it was not changed since."""
        try:
            with self._lock:
                con = self._connection()
                con.execute(_SHARED)
                found = con.execute("SELECT epoch, seq FROM shared").fetchone()
        except sqlite3.Error:
            return None
        return Version(*found) if found else None

    def _note(self, version: Version) -> None:
        with self._lock:
            con = self._connection()
            con.execute(_SHARED)
            con.execute("INSERT OR REPLACE INTO shared VALUES (1, ?, ?)", version)
