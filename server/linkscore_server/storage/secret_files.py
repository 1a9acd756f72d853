"""Secrets of a data folder: header, random bytes, checksum; a damaged one is refused and never used.

Files of format 1 hold the secret alone; a server that reads one writes it as format 2.
"""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path

from linkscore_scoring.errors import CorruptState
from linkscore_server.storage.disk import replace_file
from linkscore_server.storage.formats import SECRET_HEADER

SECRET_BYTES = 32
"""Bytes of a secret: a key of HMAC-SHA256."""

_CHECKSUM_BYTES = 8  # of BLAKE2b, against damage alone: who can write the file can write that too
_MAGIC = SECRET_HEADER[:5]


def secret_of(path: Path, lost: str = "") -> bytes:
    """Return the secret of a file, which is made if there is none; blocks.

    Parameters
    ----------
    path
        The file.
    lost
        What to do if it is damaged, for people.

    Raises
    ------
    CorruptState
        If the file does not hold a secret: a new one would say that nothing made with the old one is ours.
    OSError
        If it could not be written.
    """
    secret = read_secret(path, lost) if path.exists() else secrets.token_bytes(SECRET_BYTES)
    whole = _whole(secret)
    if not path.exists() or path.stat().st_size != len(whole):
        # A name of its own: two that need a secret at once must not write into one draft.
        replace_file(path, whole, draft=path.with_name(f"{path.name}-{secrets.token_hex(8)}.tmp"))
    return read_secret(path, lost)


def read_secret(path: Path, lost: str = "") -> bytes:
    """Return the secret of a file that is there; changes nothing.

    Raises
    ------
    CorruptState
        If it does not hold one, naming it.
    """
    return secret_in(path.read_bytes(), str(path), lost)


def new_secret() -> bytes:
    """Return what a file with a new secret holds."""
    return _whole(secrets.token_bytes(SECRET_BYTES))


def secret_in(raw: bytes, place: str, lost: str = "") -> bytes:
    """Return the secret in what a file holds.

    Raises
    ------
    CorruptState
        If there is none, naming the place.
    """
    if len(raw) == SECRET_BYTES and not raw.startswith(_MAGIC):
        return raw
    secret = raw[len(SECRET_HEADER) :][:SECRET_BYTES]
    if raw != _whole(secret):
        hint = f"; {lost}" if lost else ""
        raise CorruptState(f"{place}: damaged, its {len(raw)} bytes are no secret of linkscore{hint}")
    return secret


def _whole(secret: bytes) -> bytes:
    """Return the bytes of a file; what was cut to the size of format 1 still begins as format 2."""
    return SECRET_HEADER + secret + hashlib.blake2b(secret, digest_size=_CHECKSUM_BYTES).digest()
