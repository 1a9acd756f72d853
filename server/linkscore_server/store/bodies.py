"""Events and states as the store keeps them: compressed, with checksums that know whose they are."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterable
from functools import lru_cache

import zstandard

from linkscore_scoring.errors import CorruptState

_LEVEL = 3  # of zstd, its default: of the prototype's events 6 gained 3% and cost twice the time
_DICTIONARY_BYTES = 112 << 10
"""zstd's own advice, and what the prototype measured: bodies of 3,000 bytes took 805 to 1,884."""
_TRAINED_ON = 300
"""Events that a dictionary is trained on. As in the prototype."""
_LEAST_TRAINING_BYTES = 100_000
"""zstd refuses to train on less than some times the dictionary; then it is tried again with more. Chosen."""
_CRC_BYTES = 4  # of a CRC-32, by definition
_CONTEXTS = 16
"""Contexts of zstd that are kept, each of some 1 MB, however many shards are open. Chosen."""


class Codec:
    """Compresses the bodies of one shard. `pack` is for the one thread that writes, `unpack` for any.

    The first events are kept until there are enough to train a dictionary on; a thread beside does that once.
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
        return _compressor(threading.get_ident(), self._dictionary).compress(_crc(key) + body)

    def unpack(self, key: bytes, packed: bytes) -> bytes:
        """Return an event that was kept.

        Raises CorruptState if it is damaged or that of another key; the message is to be completed with the
        place.
        """
        try:
            number = zstandard.get_frame_parameters(packed).dict_id
            whole = _decompressor(threading.get_ident(), self._known[number] if number else None).decompress(
                packed
            )
        except (zstandard.ZstdError, KeyError) as exc:
            raise CorruptState(f"damaged: {exc}") from exc
        return _belonging(key, whole)

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


def pack_state(key: bytes, state: bytes) -> bytes:
    """Return a state as it is kept: compressed by itself; `key` says whose and as of when it is."""
    return _compressor(threading.get_ident(), None).compress(_crc(key) + state)


def unpack_state(key: bytes, packed: bytes) -> bytes:
    """Return a state that was kept; errors as of `Codec.unpack`."""
    try:
        whole = _decompressor(threading.get_ident(), None).decompress(packed)
    except zstandard.ZstdError as exc:
        raise CorruptState(f"damaged: {exc}") from exc
    return _belonging(key, whole)


@lru_cache(maxsize=_CONTEXTS)
def _compressor(thread: int, dictionary: zstandard.ZstdCompressionDict | None) -> zstandard.ZstdCompressor:
    """Return one for a thread: two that share one end the process."""
    return zstandard.ZstdCompressor(level=_LEVEL, dict_data=dictionary, write_checksum=True)


@lru_cache(maxsize=_CONTEXTS)
def _decompressor(
    thread: int, dictionary: zstandard.ZstdCompressionDict | None
) -> zstandard.ZstdDecompressor:
    return zstandard.ZstdDecompressor(dict_data=dictionary)


def seal(key: bytes, body: bytes) -> bytes:
    """Return what is kept as it is, with a checksum."""
    return _crc(key + body) + body


def checked(key: bytes, sealed: bytes) -> bytes:
    """Return what was sealed; errors as of `Codec.unpack`."""
    body = bytes(sealed[_CRC_BYTES:])
    if sealed[:_CRC_BYTES] != _crc(key + body):
        raise CorruptState("damaged: it does not fit its checksum")
    return body


def _belonging(key: bytes, whole: bytes) -> bytes:
    if whole[:_CRC_BYTES] != _crc(key):
        raise CorruptState("damaged: the row does not fit what it says")
    return whole[_CRC_BYTES:]


def _crc(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_CRC_BYTES)
