"""Objects in a bucket or folder, written and read by obstore: each whole, and of bytes that are known."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import obstore
from obstore.exceptions import BaseError
from obstore.store import from_url

from linkscore_scoring.errors import CorruptState, NotFound
from linkscore_server.objects.counts import ObjectCounts
from linkscore_server.storage.base import LogAway

AT_ONCE = 4
"""Requests on their way: some 40 MB/s of 8 MiB objects where each takes .8 s. Chosen, not measured."""
PIECE_BYTES = 8 << 20
"""Bytes of an object in one request, some more of a snapshot: large beside the price of a request. Chosen."""
_REQUEST_BYTES = 4 * PIECE_BYTES
"""Most of a request for a snapshot, which has to be through in 30 s. An object is larger where a site is."""
_OPTIONS: dict[str, Any] = {"retry_config": {"max_retries": 3, "retry_timeout": timedelta(seconds=20)}}
"""A request may take 30 s, the library's default, and is begun again within 20: then a takeover replays more
of the log rather than wait. Chosen, not measured. Options of the client hide those of the environment."""
_HANGS_S = 10.0
"""From here on a request that fails was not refused but waited in vain. Between .5 s, a few refused ones, and
30. Chosen."""
_AWAY_S = 60.0
"""How long none is made after that: a server takes many shards over, and each would wait. Chosen."""
_DIGEST_BYTES = 16
"""Of the BLAKE2b checksum of an object, against damage that comes by chance, as of `storage.replays`."""
_T = TypeVar("_T")


class Written(NamedTuple):
    """An object as it was written: its name, and the size and checksum that reading it compares."""

    name: str
    size: int
    digest: bytes


class Objects:
    """Objects below a URL. From any thread; calls block, `begin` does not.

    The library finds credentials and the address of the service as those of the provider do: in the
    environment, such as `AWS_ACCESS_KEY_ID` and `AWS_ENDPOINT`, or from the machine.

    Raises
    ------
    LogAway
        By every call, if the store does not answer, or refuses; at once for a while after one waited in vain.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.counts = ObjectCounts()
        self._away_until_s = 0.0
        with self._asking():
            if url.startswith("file:"):
                self._store: Any = from_url(url, mkdir=True)
            else:
                self._store = from_url(url, **_OPTIONS)
        self._executor = ThreadPoolExecutor(AT_ONCE, "linkscore-objects")

    def begin(self, call: Callable[..., _T], *args: Any) -> Future[_T]:
        """Begin a call of this class beside."""
        return self._executor.submit(call, *args)

    def put(self, name: str, body: bytes) -> Written:
        """Write an object, a large one piece by piece: half of one is never there."""
        with self._asking():
            obstore.put(self._store, name, body, chunk_size=_REQUEST_BYTES, max_concurrency=AT_ONCE)
        self.counts.written += len(body)
        return Written(name, len(body), _digest(body))

    def get(self, object_: Written) -> bytes:
        """Read an object.

        Raises
        ------
        CorruptState
            If it is not there, or not what was written.
        """
        try:
            with self._asking(FileNotFoundError):
                body = self._body(object_.name, object_.size)
        except FileNotFoundError:
            raise CorruptState(f"object {object_.name}: is gone") from None
        self.counts.read += len(body)
        if _digest(body) != object_.digest:
            self.counts.failures += 1
            raise CorruptState(f"object {object_.name}: does not fit its size and checksum")
        return body

    def names(self, folder: str) -> list[str]:
        """Return the names of all objects below a folder."""
        with self._asking():
            return [str(found["path"]) for some in obstore.list(self._store, folder) for found in some]

    def delete(self, names: Sequence[str]) -> None:
        """Delete objects; one that is gone is fine."""
        with self._asking():
            try:
                obstore.delete(self._store, list(names))
            except FileNotFoundError:  # folders say so, and leave the others
                for name in names:
                    with suppress(FileNotFoundError):
                        obstore.delete(self._store, name)

    def put_file(self, name: str, file: Path) -> None:
        """Write a file as an object, piece by piece; cut short there is none."""
        with self._asking(), file.open("rb") as content:
            obstore.put(self._store, name, content, chunk_size=PIECE_BYTES, max_concurrency=AT_ONCE)
        self.counts.written += file.stat().st_size

    def get_file(self, name: str, file: Path) -> None:
        """Write an object to a new file.

        Raises
        ------
        NotFound
            If there is none of this name.
        """
        try:
            with self._asking(FileNotFoundError), file.open("xb") as out:
                size = obstore.head(self._store, name)["size"]
                out.writelines(self._pieces(name, size, PIECE_BYTES))
        except FileNotFoundError:
            raise NotFound(f"{self.url}: has no object {name}") from None
        self.counts.read += size

    def close(self) -> None:
        """Let go; what is on its way is given up."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _body(self, name: str, size: int) -> bytes:
        """Return the bytes of an object, none if it is of another size."""
        if size <= _REQUEST_BYTES:
            found = obstore.get(self._store, name)
            return bytes(found.bytes()) if found.meta["size"] == size else b""
        is_whole = obstore.head(self._store, name)["size"] == size
        return b"".join(self._pieces(name, size, _REQUEST_BYTES)) if is_whole else b""

    def _pieces(self, name: str, size: int, most: int) -> Iterator[bytes]:
        """Yield the bytes of an object, so many a request."""
        for start in range(0, size, most):
            yield bytes(obstore.get_range(self._store, name, start=start, end=min(start + most, size)))

    @contextmanager
    def _asking(self, *answers: type[OSError]) -> Iterator[None]:
        """Count and translate what goes wrong, but for errors that are an answer."""
        if (began_s := time.monotonic()) < self._away_until_s:
            raise LogAway(f"{self.url}: did not answer, is asked again within {_AWAY_S:.0f} s")
        try:
            yield
        except answers:
            raise
        except (BaseError, ValueError, OSError) as exc:
            self.counts.failures += 1
            if (now_s := time.monotonic()) >= began_s + _HANGS_S:
                self._away_until_s = now_s + _AWAY_S
            raise LogAway(f"{self.url}: {_first_line(exc)}") from exc


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()


def _first_line(exc: BaseException) -> str:
    """Return what an error of the library says, without the structures that it prints below."""
    return str(exc).partition("\n")[0]
