"""A PostgreSQL of the tests' own: in a folder of its own, as a user without rights, on a free port."""

from __future__ import annotations

import contextlib
import getpass
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
import pytest

_FAST = ("fsync=off", "full_page_writes=off")


def tools() -> Path | None:
    """Return the folder of `initdb` and `postgres`, None where there is no PostgreSQL."""
    found = shutil.which("initdb")
    places = [str(Path(found).resolve().parent)] if found else []
    places += sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    return next((Path(place) for place in places if Path(place, "postgres").exists()), None)


class Postgres:
    """A server; `dsn` says how to reach it. `stop`, `kill` and `start` are for tests of faults."""

    def __init__(
        self, folder: Path, *, settings: Sequence[str] = _FAST, standby_of: Postgres | None = None
    ) -> None:
        place = tools()
        assert place is not None
        self._bin, self.folder, self._settings = place, folder, settings
        self._user = "postgres" if os.geteuid() == 0 else getpass.getuser()
        self.port = _free_port()
        if os.geteuid() == 0:
            shutil.chown(folder, self._user)
        self.data = folder / "data"
        if standby_of is None:
            self._run(
                "initdb", "--no-sync", "--auth=trust", "-U", "tests", "-E", "UTF8", "-D", str(self.data)
            )
        else:
            self._run(
                "pg_basebackup", "-h", "127.0.0.1", "-p", str(standby_of.port), "-U", "tests",
                "-D", str(self.data), "--write-recovery-conf", "--checkpoint=fast", "--no-sync",
            )  # fmt: skip
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def dsn(self) -> str:
        """How it is reached."""
        return f"postgresql://tests@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = [
            f"port={self.port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={self.folder}",
            "max_connections=200", "shared_buffers=64MB", *self._settings,
        ]  # fmt: skip
        arguments = [word for option in options for word in ("-c", option)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self._as_user, self._bin / "postgres", "-D", str(self.data), *arguments],
                stdout=log, stderr=log, cwd=self.folder, start_new_session=True,
            )  # fmt: skip
        self._wait()

    def _wait(self) -> None:
        ask = [self._bin / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        for _ in range(600):
            if subprocess.run(ask, check=False).returncode == 0:
                return
            assert self.process is not None
            assert self.process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.05)
        raise TimeoutError((self.folder / "log").read_text())

    def stop(self) -> None:
        """End it at once, as a crash of it would, but in order."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(30)

    def kill(self) -> None:
        """Kill all its processes; returns when they are gone: one that is left holds the memory of all."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)  # it starts no other one meanwhile
        others = self.backends()
        for pid in [*others, self.process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(30)
        while any(map(_lives, others)):
            time.sleep(0.01)

    def backends(self) -> list[int]:
        """Return its other processes."""
        assert self.process is not None
        return [
            int(word)
            for word in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        ]

    def promote(self) -> None:
        """Make a standby the primary."""
        self._run("pg_ctl", "promote", "-D", str(self.data), "-w")

    def schema(self, name: str) -> str:
        """Make a place for a store; return how it is reached."""
        with psycopg.connect(self.dsn, autocommit=True) as con:
            con.execute(f"CREATE SCHEMA {name}")
        return f"{self.dsn}?options=-csearch_path%3D{name}"

    @property
    def _as_user(self) -> list[str]:
        """What runs a command as a user without rights: `Popen` would fork, which gRPC does not survive."""
        if os.geteuid():
            return []
        user = pwd.getpwnam(self._user)
        return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]

    def _run(self, tool: str, *arguments: str) -> None:
        done = subprocess.run(
            [*self._as_user, self._bin / tool, *arguments],
            capture_output=True,
            cwd=self.folder,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()


def _lives(pid: int) -> bool:
    """Whether a process is there; one that nobody has asked about since its end is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Give a folder that a user without rights may have: pytest's own are closed to all but root."""
    with tempfile.TemporaryDirectory(prefix="linkscore-pg-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def replicated() -> Iterator[tuple[Postgres, Postgres]]:
    """Give a primary that waits for its standby, and the standby."""
    if tools() is None:
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    # By its default of 5 s a standby that has just lost its primary may be promoted that much later.
    stands_by = ("wal_level=replica", "hot_standby=on", "wal_retrieve_retry_interval=200ms")
    with folder() as one, folder() as other:
        primary = Postgres(one, settings=("synchronous_standby_names=*", *stands_by))
        primary.start()
        standby = Postgres(other, settings=stands_by, standby_of=primary)
        standby.start()
        yield primary, standby
        standby.stop()
        primary.stop()


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
