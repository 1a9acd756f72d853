"""A WARC file, plain or compressed, as a part of an archive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from linkscore_lab.archives.blocks import read_blocks
from linkscore_lab.archives.frames import frames
from linkscore_lab.archives.record import BadRecord, Damage, Record, Tally
from linkscore_lab.archives.responses import record_type, to_record
from linkscore_lab.archives.source import Source


class WarcFile:
    """A WARC file on disk.

    Attributes
    ----------
    entry
        None: it is the first response record.
    """

    entry: str | None = None

    def __init__(self, path: Path) -> None:
        self.path = path

    def records(self, tally: Tally) -> Iterator[Record]:
        """Yield the answers in stored order; `tally` is told of everything else."""
        with self.path.open("rb") as file:
            yield from read_warc(Source(str(self.path), file), tally)


def read_warc(source: Source, tally: Tally) -> Iterator[Record]:
    """Yield the answers of a WARC file in stored order; bad records are skipped and told to `tally`."""

    def damaged(offset: int, reason: str) -> None:
        tally.damage.append(Damage(source.name, offset, reason))

    for frame in frames(source):
        for block in read_blocks(frame, damaged):
            tally.blocks += 1
            tally.revisits += record_type(block) == "revisit"
            try:
                record = to_record(block)
            except BadRecord as error:
                damaged(block.offset, str(error))
                continue
            if record is not None:
                yield record
