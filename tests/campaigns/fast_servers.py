"""Servers that start in a tenth of a second: one process imports everything, and each server is a fork of it.

They are as real as others: processes of their own, on folders of their own, that a signal ends. Run as a
module this is the process that forks; it reads a line of settings as JSON for each server and writes its
process id.
"""

from __future__ import annotations

import asyncio
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

PATIENCE_S = 600.0  # longest start, on a machine that is busy
_LINE = "linkscore serving on "
_DIGESTS = "digests.json"


def _clock_of(out: Path) -> Path:
    return out.with_name("clock")


class FastServer:
    """One server. `target` is where it listens once `wait` returned."""

    def __init__(self, pid: int, out: Path) -> None:
        self.pid = pid
        self.target = ""
        self._out = out

    def wait(self) -> None:
        """Wait until it serves.

        Raises
        ------
        AssertionError
            If it ends before, with what it said.
        """
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            said = self._out.read_text()
            if _LINE in said and said.endswith("\n"):
                self.target = said.partition(_LINE)[2].split()[0]
                return
            if not self.is_alive():
                break
            time.sleep(0.005)
        raise AssertionError(f"the server did not start: {self._out.read_text()[-2000:]}")

    def is_alive(self) -> bool:
        """Say whether any thread of the process is left; its files are closed with the last one."""
        return Path(f"/proc/{self.pid}").exists()

    def stop(self) -> None:
        """Send SIGSTOP and wait until no thread of the process does anything; it goes on with `go_on`."""
        os.kill(self.pid, signal.SIGSTOP)
        while not all(
            task.read_text().rpartition(") ")[2].startswith("T")
            for task in Path(f"/proc/{self.pid}/task").glob("*/stat")
        ):
            time.sleep(0.001)

    def go_on(self) -> None:
        """Send SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def set_clock(self, seconds: float) -> None:
        """Have the wall clock of the server jump to be as much ahead of that of the machine, or behind it."""
        _clock_of(self._out).write_text(str(seconds))
        os.kill(self.pid, signal.SIGUSR1)

    def digests(self) -> dict[str, tuple[int, str]]:
        """Return last event and checksum of each crawl in memory, as `storage.replays` takes them."""
        found = self._out.with_name(_DIGESTS)
        found.unlink(missing_ok=True)
        os.kill(self.pid, signal.SIGUSR2)
        until = time.monotonic() + PATIENCE_S
        while not found.exists():
            assert self.is_alive(), self._out.read_text()[-2000:]
            assert time.monotonic() < until, "the server does not answer"
            time.sleep(0.002)
        return {crawl: (seq, digest) for crawl, (seq, digest) in json.loads(found.read_text()).items()}

    def kill(self) -> None:
        """Send SIGKILL and wait until the process is gone."""
        os.kill(self.pid, signal.SIGKILL)
        while self.is_alive():
            time.sleep(0.001)


class FastServers:
    """Starts servers; a context, at whose end the forking process is gone."""

    def __enter__(self) -> FastServers:
        found = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        path = os.pathsep.join(filter(None, found))
        environment = os.environ | {"GRPC_ENABLE_FORK_SUPPORT": "0", "PYTHONPATH": path}
        command = [sys.executable, "-m", "campaigns.fast_servers"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(PATIENCE_S)
        assert self._process.stdout
        self._process.stdout.close()

    def start(self, folder: Path, **settings: object) -> FastServer:
        """Begin to start a server on the folder `data` in `folder`, where its output goes too.

        The setting `segment_bytes`, which servers do not have, makes segments of logs smaller.
        """
        folder.mkdir(parents=True, exist_ok=True)
        out = folder / "out.txt"
        out.write_text("")
        wanted = {"data_dir": str(folder / "data"), "listen": "127.0.0.1:0", "metrics_listen": ""}
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps([str(out), wanted | settings]) + "\n")
        self._process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            assert selector.select(PATIENCE_S), "the forking process does not answer"
        return FastServer(int(self._process.stdout.readline()), out)


def _fork_for_ever() -> None:
    import river.linear_model  # noqa: F401  what crawls would import one by one
    import sklearn.cluster  # noqa: F401

    from linkscore_server import app
    from linkscore_server.observability.logs import set_up
    from linkscore_server.settings import Settings
    from linkscore_server.storage import files

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended servers leave nothing to wait for
    for line in sys.stdin:
        out, settings = json.loads(line)
        segment_bytes = settings.pop("segment_bytes", files.SEGMENT_BYTES)
        pid = os.fork()
        if pid:
            print(pid, flush=True)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        fd = os.open(out, os.O_WRONLY | os.O_APPEND)
        os.dup2(fd, 1)
        os.dup2(fd, 2)
        os.close(0)
        set_up("error")
        _obey(Path(out))
        app.FileStore = partial(files.FileStore, segment_bytes=segment_bytes)  # type: ignore[misc, assignment]
        asyncio.run(app.run(Settings(**settings)))
        os._exit(0)


def _obey(out: Path) -> None:
    """Set the wall clock at SIGUSR1, and write checksums of what is in memory at SIGUSR2."""
    from linkscore_server import app
    from linkscore_server.crawls.registry import CrawlRegistry
    from linkscore_server.storage.replays import digest_of

    real, ahead_s, registries = time.time, [0.0], list[CrawlRegistry]()
    time.time = lambda: real() + ahead_s[0]

    class Registry(CrawlRegistry):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            registries.append(self)
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGUSR1, set_clock)
            loop.add_signal_handler(signal.SIGUSR2, write_digests)  # between events, not within one

    def set_clock() -> None:
        ahead_s[0] = float(_clock_of(out).read_text())

    def write_digests() -> None:
        found = {
            actor.key: (actor.model.seq, digest_of(actor.model))
            for registry in registries
            for actor in registry.actors()
        }
        draft = out.with_name(f"{_DIGESTS}.tmp")
        draft.write_text(json.dumps(found))
        draft.replace(out.with_name(_DIGESTS))

    if _clock_of(out).exists():
        set_clock()
    app.CrawlRegistry = Registry  # type: ignore[misc]


if __name__ == "__main__":
    _fork_for_ever()
