"""The power fails at random moments of a store in a file: nothing acknowledged is lost.

A process writes crawls while `strace` records what it writes to the disk and when it waits for the disk. A
power cut leaves all that was waited for, and of each later write all, nothing or some sectors. The store made
of that must be sound, have each acknowledged page once, and its states equal a replay of its events.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import decode
from linkscore_scoring.site.learning import LearningConfig
from linkscore_scoring.testing.crawl import GeneratedSite
from linkscore_server.crawls.opening import unlike_their_replay
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.observability import Metrics
from linkscore_server.settings import Settings
from linkscore_server.store import open_store
from linkscore_server.store.moving import problems_of
from support.recorded_crawls import fetched

CRAWLS, PAGES = 3, 120
_SECTOR = 512
_FILES = ("linkscore.db", "linkscore.db-wal", "acknowledged")
_CALL = re.compile(r'(\d+) +(\w+)\(\d+<([^>]*)>(?:, "([^"]*)")?,? ?([\d, ]*)(.*)')
_RESUMED = re.compile(r"(\d+) +<\.\.\. (?:fsync|fdatasync) resumed>")
Write = tuple[int, bytes | None]  # where, and what; nothing: the file ends there


async def write(folder: Path) -> None:
    """Take in pages of some crawls at once; note each when it is acknowledged."""
    acknowledged = os.open(folder / "acknowledged", os.O_WRONLY | os.O_APPEND)
    registry = CrawlRegistry(open_store(str(folder)), Settings(learning_processes=0), Metrics())

    async def crawl(name: str, site: GeneratedSite) -> None:
        await registry.create(CrawlConfig(name, learning=LearningConfig(sample_pages=12)))
        actor, queue = await registry.open(name), [site.home]
        for n in range(PAGES):
            url = queue[n % len(queue)]
            page = site.page(url)
            queue += [link for link in page.links.urls if link not in queue] if page is not None else []
            await actor.submit(fetched(url, page, site="site.example", event_id=f"{name}-{n}", ticket=b""))
            os.write(acknowledged, b"%s-%d\n" % (name.encode(), n))

    await asyncio.gather(*(crawl(f"c{n}", GeneratedSite(n)) for n in range(CRAWLS)))
    await registry.close()
    registry.store.close()


def recorded(folder: Path) -> list[tuple[str, Write | None]]:
    """Return what a process wrote, file by file in order; nothing where it waited for a file's disk."""
    (folder / "acknowledged").touch()
    trace, calls = folder / "trace", "trace=pwrite64,write,fsync,fdatasync,ftruncate"
    files = [word for name in _FILES for word in ("-P", str(folder / name))]
    options = ["-f", "-y", "-xx", "-s", str(1 << 24), "-e", calls, "-o", str(trace), *files]
    writer = ["strace", *options, sys.executable, __file__, str(folder)]
    subprocess.run(writer, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True)
    found: list[tuple[str, Write | None]] = []
    waiting: dict[str, str] = {}
    for line in trace.read_text().splitlines():
        if resumed := _RESUMED.match(line):
            found.append((waiting.pop(resumed[1]), None))
        elif call := _CALL.match(line):
            pid, kind, path, data, numbers, rest = call.groups()
            name = Path(_bytes(path).decode()).name
            if kind in ("fsync", "fdatasync"):
                if "unfinished" in rest:
                    waiting[pid] = name
                else:
                    found.append((name, None))
            elif kind == "ftruncate":
                found.append((name, (int(numbers.strip(", ")), None)))
            else:
                at = int(numbers.rpartition(", ")[2]) if kind == "pwrite64" else -1
                found.append((name, (at, _bytes(data))))
    return found


def cuts(written: list[tuple[str, Write | None]], draw: random.Random, n: int) -> Iterator[dict[str, bytes]]:
    """Yield what the disk has after cuts at so many moments."""
    moments = set(draw.sample(range(len(written) + 1), n))
    durable, pending = defaultdict(bytearray), defaultdict[str, list[Write]](list)
    for moment, (name, what) in enumerate([*written, ("", None)]):
        if moment in moments:
            yield {each: _left(durable[each], pending[each], draw) for each in (*_FILES,)}
        if what is not None:
            pending[name].append(what)
        if what is None or name == "acknowledged":
            for one in pending.pop(name, []):
                _apply(durable[name], one)


def _left(durable: bytearray, pending: list[Write], draw: random.Random) -> bytes:
    left = bytearray(durable)
    for at, data in pending:
        kind = draw.randrange(3)
        if kind == 0 or (kind == 2 and data is None):
            _apply(left, (at, data))
        elif kind == 2 and data is not None:
            for start in range(0, len(data), _SECTOR):
                if draw.randrange(2):
                    _apply(left, (at + start, data[start : start + _SECTOR]))
    return bytes(left)


def _apply(file: bytearray, write: Write) -> None:
    at, data = write
    if data is None:
        del file[at:]
        return
    at = len(file) if at < 0 else at
    file.extend(bytes(max(0, at - len(file))))
    file[at : at + len(data)] = data


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


def problems(left: dict[str, bytes], folder: Path) -> list[str]:
    """Return what is wrong with the store that a cut left."""
    for name in _FILES[:2]:
        (folder / name).write_bytes(left[name])
    acknowledged = set(left["acknowledged"].decode().split())
    with closing(open_store(str(folder))) as store:
        found = [*problems_of(store, decode), *unlike_their_replay(store)]
        there = Counter(id for key in store.shards() for id in store.open(key).ids())
    found += [f"twice: {id}" for id, times in there.items() if times > 1]
    return found + [f"lost: {id}" for id in acknowledged - there.keys()]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace here")
@pytest.mark.parametrize("seed", range(4))
def test_power_cuts_lose_nothing(tmp_path: Path, seed: int) -> None:
    for number, left in enumerate(cuts(recorded(tmp_path), random.Random(seed), 50)):
        after = tmp_path / f"cut{number}"
        after.mkdir()
        assert problems(left, after) == [], number


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1])))
