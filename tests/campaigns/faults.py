"""``make faults N=50``: servers over one PostgreSQL lose processes, connections and the database at random.

Threads send pages of eight sites until each is acknowledged. At the end each acknowledged page is there once,
whichever server is asked, and what the store keeps of sites equals a replay of the events alone.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import psycopg

from linkscore_server.crawls.opening import unlike_their_replay
from linkscore_server.store import open_store
from support import postgres
from support.fleet import Fleet, Load, fleet
from support.postgres import Postgres

STOPPED_S = 10.0
_ENDS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'linkscore'"
Fault = Callable[[random.Random, Fleet, Postgres], None]


def kill(rng: random.Random, servers: Fleet, database: Postgres) -> None:
    """End a server by kill -9; another one starts once the others have its sites, or sooner."""
    victim = rng.choice(servers.servers)
    servers.remove(victim)
    victim.kill()
    time.sleep(rng.uniform(0.0, 3.0))
    servers.start()


def terminate(rng: random.Random, servers: Fleet, database: Postgres) -> None:
    """End a server by SIGTERM, while callers go on asking it; start another one."""
    victim = rng.choice(servers.servers)
    code = victim.terminate()
    servers.remove(victim)
    assert code == 0, f"SIGTERM: {code}"
    servers.start()


def stop(rng: random.Random, servers: Fleet, database: Postgres) -> None:
    """Stop a server, writes in flight, until others have its sites; let it go on."""
    with _stopped([rng.choice(servers.servers).process.pid]):
        time.sleep(STOPPED_S)


def end_sessions(rng: random.Random, servers: Fleet, database: Postgres) -> None:
    """Have the database end all connections of servers."""
    with psycopg.connect(database.dsn, autocommit=True) as con:
        con.execute(_ENDS)


def stop_database(rng: random.Random, servers: Fleet, database: Postgres) -> None:
    """Stop all processes of the database, and let them go on."""
    assert database.process is not None
    with _stopped([database.process.pid, *database.backends()]):
        time.sleep(STOPPED_S)


def kill_database(rng: random.Random, servers: Fleet, database: Postgres) -> None:
    """End all processes of the database by kill -9, and start it."""
    database.kill()
    database.start()


FAULTS: dict[str, Fault] = {
    fault.__name__.replace("_", "-"): fault
    for fault in (kill, terminate, stop, end_sessions, stop_database, kill_database)
}


class _stopped:
    """Processes that do nothing in this block."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids

    def __enter__(self) -> None:
        for pid in self._pids:
            os.kill(pid, signal.SIGSTOP)

    def __exit__(self, *error: object) -> None:
        for pid in self._pids:
            os.kill(pid, signal.SIGCONT)


def campaign(kinds: Sequence[str], seed: int, folder: Path, database: Postgres) -> dict[str, list[float]]:
    """Have faults of these kinds happen, in a drawn order; return the silences after each, by kind.

    A silence is the longest time for which a site had no page acknowledged.
    """
    rng, where = random.Random(seed), database.schema(f"faults{seed}")
    order = rng.sample(kinds, len(kinds))
    silences: dict[str, list[float]] = {kind: [] for kind in kinds}
    with fleet(folder, where, 3) as servers:
        load = Load(servers, servers.create("books", 16))
        for kind in order:
            load.wait_for(24)
            began_s = time.monotonic()
            FAULTS[kind](rng, servers, database)
            load.wait_for_all()
            silences[kind].append(load.silence(began_s))
        load.wait_for(24)
        load.end()
        load.check()
        print(f"seed {seed}: {len(load.acknowledged)} pages acknowledged, each there once", flush=True)
    with closing(open_store(where)) as store:
        assert list(unlike_their_replay(store)) == []
    return silences


def main() -> None:
    """Run a campaign; it ends with an error if something was lost or doubled."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--faults", type=int, default=50)
    parser.add_argument("--only", choices=FAULTS, help="one kind; all in turn if left out")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = parser.parse_args()
    kinds = [given.only] if given.only else list(FAULTS)
    each = [kinds[n % len(kinds)] for n in range(given.faults)]
    if postgres.tools() is None:
        sys.exit("no PostgreSQL here: apt-get install postgresql")
    with postgres.folder() as place, tempfile.TemporaryDirectory(prefix="linkscore-faults-") as folder:
        database = Postgres(place)
        database.start()
        try:
            silences = campaign(each, given.seed, Path(folder), database)
        finally:
            database.stop()
    for kind, found in silences.items():
        print(f"{kind}: {len(found)}, silence {statistics.median(found):.2f} s, {max(found):.2f} at most")
        print(*(f"{silence:.2f}" for silence in sorted(found)))


if __name__ == "__main__":
    main()
