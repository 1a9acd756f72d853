"""What was cut from the front of a log: segments whose events two snapshots hold, see the setting `keep_log`.

The file ``cut`` beside the segments says which event was the last that went. It is durable before the first
segment is deleted, and segments it covers are no part of the log any more: killed in between, the log is
whole, and the next cut or start deletes what is left.
"""

from __future__ import annotations

import struct
import zlib
from itertools import pairwise
from pathlib import Path

from linkscore_scoring.errors import CorruptState
from linkscore_server.storage import failpoints
from linkscore_server.storage.disk import replace_file, sync
from linkscore_server.storage.formats import CUT_HEADER

_MARK = struct.Struct(">8sQ")
_CRC = struct.Struct(">I")


def cut_seq(folder: Path) -> int:
    """Return the number of the last event that was cut from the log in a folder, 0 if none was.

    Raises
    ------
    CorruptState
        If the file that says so is damaged: where the log begins is not known then.
    """
    path = folder / "cut"
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return 0
    mark = raw[: _MARK.size]
    if len(raw) != _MARK.size + _CRC.size or raw[_MARK.size :] != _CRC.pack(zlib.crc32(mark)):
        raise CorruptState(f"{path}: damaged: it says how much of the log was cut; restore it from a backup")
    header, seq = _MARK.unpack(mark)
    if header != CUT_HEADER:
        raise CorruptState(f"{path}: of another format than {CUT_HEADER[-1]}: another version wrote it")
    return int(seq)


def kept_segments(folder: Path) -> list[Path]:
    """Return the segments of a log in order, without those that were cut and are not deleted yet."""
    last = cut_seq(folder)
    return [path for path in sorted(folder.glob("*.log")) if int(path.stem) > last]


def cut(folder: Path, held_seq: int) -> int:
    """Delete the segments that hold no event after `held_seq`, but never the last; returns their bytes."""
    segments = kept_segments(folder)
    ends = [int(later.stem) - 1 for _, later in pairwise(segments)]
    last = max((end for end in ends if end <= held_seq), default=0)
    if last:
        mark = _MARK.pack(CUT_HEADER, last)
        replace_file(folder / "cut", mark + _CRC.pack(zlib.crc32(mark)), draft=folder / "cut.tmp")
        failpoints.reached("log.marked")
    return delete_leftovers(folder)


def delete_leftovers(folder: Path) -> int:
    """Delete the segments that were cut; returns their bytes."""
    kept, size = set(kept_segments(folder)), 0
    for path in sorted(folder.glob("*.log")):
        if path not in kept:
            size += path.stat().st_size
            path.unlink()
    if size:
        sync(folder)
    return size
