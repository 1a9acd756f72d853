"""Events and states as the store keeps them: compressed, with checksums that know whose they are."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterable
from functools import lru_cache

import zstandard

from linkscore_scoring.errors import CorruptState

_LEVEL = 3  # of zstd, its default: of the prototype's events 6 gained 3% and cost twice the time
_DICTIONARY_BYTES, _TRAINED_ON = 48 << 10, 100
"""Of a dictionary, and events that it is trained on: of the first 640 pages of four sites an event takes
.9 to 1.7 KB. By one of 112 KB of 300 events 1.4 to 2.4, whose later ones are up to 18 % smaller. Measured."""
_LEAST_TRAINING_BYTES = 100_000
"""zstd refuses to train on less than some times the dictionary; then it is tried again with more. Chosen."""
_CRC_BYTES = 4  # of a CRC-32, by definition
_CONTEXTS = 16
"""Contexts of zstd that are kept, each of some 1 MB, however many shards are open. Chosen."""


class Codec:
    """Compresses the bodies of one shard. `pack` is for the one thread that writes, `unpack` for any.

    zstd's checksum tells damage of a body, the four bytes before it that the row is another one's.
    """

    def __init__(self, dictionaries: Iterable[tuple[int, bytes]] = ()) -> None:
        self._known = {number: zstandard.ZstdCompressionDict(body) for number, body in dictionaries}
        self._dictionary = next(iter(self._known.values()), None)
        self._is_trained = bool(self._known)
        self._samples: list[bytes] = []
        self._trained: zstandard.ZstdCompressionDict | None = None

    def pack(self, key: bytes, body: bytes) -> bytes:
        """Return an event as it is kept; `key` says whose it is."""
        if not self._is_trained:
            self._sample(body)
        return pack(key, body, self._dictionary)

    def unpack(self, key: bytes, packed: bytes) -> bytes:
        """Return an event that was kept; errors as of `unpack`."""
        try:
            number = zstandard.get_frame_parameters(packed).dict_id
            dictionary = self._known[number] if number else None
        except (zstandard.ZstdError, KeyError) as exc:
            raise CorruptState(f"damaged: {exc}") from exc
        return unpack(key, packed, dictionary)

    def take_trained(self) -> tuple[int, bytes] | None:
        """Return number and body of a dictionary that is to be kept before it is used, once it is trained."""
        trained = self._trained
        return (trained.dict_id(), trained.as_bytes()) if trained is not None else None

    def use_trained(self) -> None:
        """Compress with what `take_trained` gave: it is kept."""
        trained, self._trained = self._trained, None
        assert trained is not None
        self._known[trained.dict_id()] = trained
        self._dictionary = trained

    def _sample(self, body: bytes) -> None:
        self._samples.append(body)
        if len(self._samples) >= _TRAINED_ON and sum(map(len, self._samples)) >= _LEAST_TRAINING_BYTES:
            samples, self._samples, self._is_trained = self._samples, [], True
            threading.Thread(
                target=self._train, args=(samples,), name="linkscore-dictionary", daemon=True
            ).start()

    def _train(self, samples: list[bytes]) -> None:
        try:
            self._trained = zstandard.train_dictionary(_DICTIONARY_BYTES, [*samples], level=_LEVEL)
        except zstandard.ZstdError:  # they have nothing in common: without one, events only take more room
            return


def pack(key: bytes, body: bytes, dictionary: zstandard.ZstdCompressionDict | None = None) -> bytes:
    """Return bytes as they are kept; `key` says whose, and as of when they are."""
    return _compressor(threading.get_ident(), dictionary).compress(_crc(key) + body)


def unpack(key: bytes, packed: bytes, dictionary: zstandard.ZstdCompressionDict | None = None) -> bytes:
    """Return bytes that were kept; CorruptState if they are damaged or those of another key."""
    try:
        whole = _decompressor(threading.get_ident(), dictionary).decompress(packed)
    except zstandard.ZstdError as exc:
        raise CorruptState(f"damaged: {exc}") from exc
    if whole[:_CRC_BYTES] != _crc(key):
        raise CorruptState("damaged: the row does not fit what it says")
    return whole[_CRC_BYTES:]


@lru_cache(maxsize=_CONTEXTS)
def _compressor(thread: int, dictionary: zstandard.ZstdCompressionDict | None) -> zstandard.ZstdCompressor:
    """Return one for a thread: two that share one end the process."""
    return zstandard.ZstdCompressor(level=_LEVEL, dict_data=dictionary, write_checksum=True)


@lru_cache(maxsize=_CONTEXTS)
def _decompressor(
    thread: int, dictionary: zstandard.ZstdCompressionDict | None
) -> zstandard.ZstdDecompressor:
    return zstandard.ZstdDecompressor(dict_data=dictionary)


def _crc(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_CRC_BYTES)
