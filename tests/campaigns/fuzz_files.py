"""``make fuzz-files N=1000``: archives, browse logs and token files of any content.

Everything of an input follows from its seed, which a finding prints. One is: an error that is none of those a
user is told in a line, more CPU time than an input may take, an archive that was refused and left something
behind or that was taken in and then answers with an error of ours, a token that a message gives away.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import hashlib
import io
import json
import random
import shutil
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import zstandard

from campaigns import damage
from linkscore_scoring.errors import LinkscoreError
from linkscore_server.browse_logs.batching import Cleaning, ReadLog, batches_of
from linkscore_server.browse_logs.log_files import log_file
from linkscore_server.browse_logs.staging import BatchLimits, check
from linkscore_server.storage.archive import MANIFEST, import_crawl
from linkscore_server.storage.files import FileStore
from linkscore_server.text_files import text_of
from linkscore_server.tokens import parse_tokens

_MOST_S = 5.0  # CPU time of an input; the sound ones take a fifth
_SECRET_CHARS = 16  # texts as long may be tokens
_ODD = (None, True, -1, 0, 1e308, float("nan"), 2**70, "", "../x", "a" * 70_000, [], {}, [[[[]]]], {"a": {}})
_ODD_NAMES = (  # of members
    "../../outside",
    "/tmp/outside",
    "",
    ".",
    "a/../../outside",
    "a" * 300,
    "a\nb",
    "\u202e",
    "sites.db",
)
_ODD_TYPES = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, b"S")
_URLS = ("http://a.org/", "/x", "https://[::1/", "//", "\x00", "http://" + "a" * 300, "javascript:x", "é")
_TIMES = (
    "2026-01-02T03:04:05Z",
    "1767322800",
    "99999999999999999999",
    "-1",
    "02/Jan/2026:03:04:05 +0000",
    "x",
)
_ACCESS = '{ip} - - [{time}] "GET {url} HTTP/1.1" 200 {size} "{url}" "Mozilla/5.0"'


class Finding(Exception):
    """Something that must not be."""


class Files:
    """Makes inputs and gives them to what reads them, in a folder of its own."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch

    def token_file(self, rng: random.Random) -> None:
        """A token file."""
        digest, word = hashlib.sha256(rng.randbytes(4)).hexdigest(), "t" + rng.randbytes(12).hex()
        pieces = (
            f"n{rng.randrange(3)} read a-* sha256:{digest}", f"name admin * sha256:{digest[:-1]}", word,
            f"x write {word} sha256:{digest}", "# a comment", "#comment-without-a-blank", "", "word",
            f"sha256:{digest}", f"name {word}", "\x00", "\u2028", "\ufeff" + word, "name read * " + word,
        )  # fmt: skip
        raw = rng.choice(("\n", "\r\n", " \n")).join(rng.choices(pieces, k=rng.randrange(5))).encode()
        path = self._scratch / "tokens"
        path.write_bytes(damage.damaged(rng, raw) if rng.random() < 0.3 else raw)
        try:
            callers = parse_tokens(text_of(path))
        except ValueError as exc:
            said = str(exc)
            if any(len(part) >= _SECRET_CHARS and part in said for part in (word, digest)):
                raise Finding(f"a message gives a token away: {said}") from exc
            return
        if not callers or len({caller.name for caller in callers.values()}) < len(callers):
            raise Finding(f"callers without a name of their own: {callers}")
        said = [line for line in text_of(path).splitlines() if not (line.strip() + " ").startswith("# ")]
        if any(caller.name == "token" for caller in callers.values()) and len(" ".join(said).split()) != 1:
            raise Finding(f"a slip became a plain token: {raw!r}")

    def log(self, rng: random.Random) -> None:
        """A browse log, of any format."""
        kind = rng.choice(("csv", "tsv", "jsonl", "log"))
        lines = [_line(rng, kind) for _ in range(rng.choice((0, 1, 3, 30)))]
        if kind in ("csv", "tsv") and rng.random() < 0.8:
            lines.insert(0, rng.choice((",", "\t")).join(("time", "client", "url", "referrer")))
        raw = "\n".join(lines).encode("utf-8", "surrogatepass")
        raw = damage.damaged(rng, raw) if rng.random() < 0.5 else raw
        path = self._scratch / f"log.{kind}"
        if rng.random() < 0.2:
            packed = gzip.compress(raw)
            raw, path = damage.damaged(rng, packed), path.with_name(f"{path.name}.gz")
        path.write_bytes(raw)
        host = rng.choice(("", "a.org", "https://a.org"))
        try:
            file = log_file(path, host=host)
            for batch in batches_of(file, Cleaning(), ReadLog(), batch_records=10, memory_mb=64):
                check(batch, BatchLimits(records=10, memory_mb=64))
        except (LinkscoreError, OSError, duckdb.Error):
            return
        finally:
            path.unlink()

    def archive(self, rng: random.Random) -> None:
        """An archive of a crawl."""
        sound = self._archive
        how = rng.randrange(5)
        if how == 0:
            raw = damage.damaged(rng, sound)
        elif how == 1:
            raw = _packed(damage.damaged(rng, zstandard.decompress(sound, max_output_size=1 << 30)))
        else:
            raw = _packed(_rebuilt(rng, sound, how))
        file, target = self._scratch / "archive", self._scratch / "target"
        file.write_bytes(raw)
        beside = sorted(self._scratch.iterdir())
        store = FileStore(target)
        try:
            import_crawl(store, file)
            taken = True
        except (LinkscoreError, OSError):
            taken = False
            left = [*(target / "crawls").iterdir(), *target.glob("deleted-*")]
            if left:
                raise Finding(f"a refused archive leaves {left}") from None
        finally:
            store.close()
        if sorted(path for path in self._scratch.iterdir() if path != target) != beside:
            raise Finding(f"files outside the folder: {sorted(self._scratch.iterdir())}")
        if taken and raw != sound and (target / "crawls" / damage.NAME).exists():
            answers = asyncio.run(damage.answers(target))
            if ours := [line[:300] for line in answers if line.startswith(("INTERNAL", "UNKNOWN"))]:
                raise Finding(f"an archive that was taken in: {ours}")
        shutil.rmtree(target)

    @cached_property
    def _archive(self) -> bytes:
        made = self._scratch.parent / f"{self._scratch.name}-made"
        asyncio.run(damage.make(made))
        raw = (made / "archive").read_bytes()
        shutil.rmtree(made)
        return raw


def _line(rng: random.Random, kind: str) -> str:
    ip, url, at = f"10.0.0.{rng.randrange(9)}", rng.choice(_URLS), rng.choice(_TIMES)
    if kind == "jsonl":
        made: Any = {"time": at, "client": ip, "url": url, "referrer": rng.choice(_URLS)}
        made[rng.choice(("time", "client", "url", "x"))] = rng.choice((*_ODD, at, url))
        return "[" * rng.choice((0, 0, 0, 3_000)) + json.dumps(made)
    if kind == "log":
        return _ACCESS.format(ip=ip, time=at, url=url, size=rng.choice(("1", "-", "9" * 30)))
    return rng.choice((",", ",", "\t")).join((at, ip, url, rng.choice(('"', '""', "a" * 9_000, url))))


def _packed(raw: bytes) -> bytes:
    return zstandard.compress(raw)


def _rebuilt(rng: random.Random, sound: bytes, how: int) -> bytes:
    """Return the tar of an archive with other contents that fit their checksums, or with something odd."""
    plain = io.BytesIO(zstandard.decompress(sound, max_output_size=1 << 30))
    with tarfile.open(fileobj=plain) as tar:
        members = {entry.name: tar.extractfile(entry).read() for entry in tar}  # type: ignore[union-attr]
    manifest = json.loads(members.pop(MANIFEST))
    if how == 2:  # what fits its checksum may hold anything
        name = rng.choice(sorted(members))
        members[name] = damage.damaged(rng, members[name])
        digest = hashlib.blake2b(members[name]).hexdigest()
        manifest["files"][name] = {"bytes": len(members[name]), "blake2b": digest}
    elif how == 3:
        place = rng.choice((manifest, manifest["files"], rng.choice(list(manifest["files"].values()))))
        place[rng.choice(sorted(place))] = rng.choice(_ODD)
        if rng.random() < 0.3 and isinstance(manifest["files"], dict):
            manifest["files"][rng.choice(_ODD_NAMES)] = {"bytes": 1, "blake2b": ""}
    return _tar(rng, manifest, members, is_odd=how == 4)


def _tar(rng: random.Random, manifest: Any, members: dict[str, bytes], *, is_odd: bool) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in [(MANIFEST, json.dumps(manifest).encode()), *members.items()]:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            if is_odd and rng.random() < 0.3:
                _spoil(rng, entry)
            tar.addfile(entry, io.BytesIO(content + bytes(max(0, entry.size - len(content)))))
    return out.getvalue()


def _spoil(rng: random.Random, entry: tarfile.TarInfo) -> None:
    match rng.randrange(4):
        case 0:
            entry.name = rng.choice(_ODD_NAMES)
        case 1:
            entry.type = rng.choice(
                (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, b"S")
            )
            entry.linkname = rng.choice(_ODD_NAMES)
        case 2:
            entry.size = rng.choice((0, entry.size // 2, entry.size + 7))
        case _:
            entry.pax_headers = {
                rng.choice(("path", "size", "GNU.sparse.size", "x")): "9" * rng.choice((1, 90_000))
            }


KINDS: dict[str, Callable[[Files, random.Random], None]] = {
    "token file": Files.token_file,
    "browse log": Files.log,
    "archive": Files.archive,
}
"""What is fed, by name."""


def campaign(inputs: int, first_seed: int, kinds: list[str] | None = None) -> tuple[Counter[str], list[str]]:
    """Feed so many inputs of each kind; returns how many, and what was found."""
    done, found = Counter[str](), []
    with tempfile.TemporaryDirectory(prefix="linkscore-fuzz-") as scratch:
        files = Files(Path(scratch) / "files")
        for seed in range(first_seed, first_seed + inputs):
            for kind in kinds or KINDS:
                shutil.rmtree(Path(scratch) / "files", ignore_errors=True)
                (Path(scratch) / "files").mkdir()
                started = time.process_time()
                try:
                    KINDS[kind](files, random.Random(f"{kind} {seed}"))
                    if (took := time.process_time() - started) > _MOST_S and done[kind]:
                        raise Finding(f"took {took:.1f} s of CPU time")
                except Exception as exc:
                    found.append(f"{kind}, seed {seed}: {exc!r:.1500}")
                    print(found[-1], flush=True)
                done[kind] += 1
    return done, found


def main() -> int:
    """Feed, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=1_000, help="of each kind")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--kind", choices=list(KINDS), action="append")
    given = parser.parse_args()
    done, found = campaign(given.inputs, given.first_seed, given.kind)
    print(*(f"{count} of kind {kind}" for kind, count in done.items()), f"{len(found)} findings", sep=", ")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
