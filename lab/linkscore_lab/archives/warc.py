"""A WARC file, plain or compressed, as a part of an archive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from linkscore_lab.archives.blocks import Block, read_blocks
from linkscore_lab.archives.frames import frames
from linkscore_lab.archives.record import BadRecord, Damage, Record, Tally
from linkscore_lab.archives.responses import record_type, to_record
from linkscore_lab.archives.source import Source
from linkscore_scoring.errors import InvalidInput


class WarcFile:
    """A WARC file on disk.

    Attributes
    ----------
    entry
        None: it is the first response record.

    Raises
    ------
    InvalidInput
        Field ``warc``: the file has no record of any type, but is not empty.
    """

    entry: str | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        tally = Tally()
        with path.open("rb") as file:
            one = next(_read_blocks(Source(str(path), file), tally), None)
        if one is None and tally.damage:
            raise InvalidInput(f"{path}: must be a WARC file, got {tally.damage[0].reason}", field="warc")

    def records(self, tally: Tally) -> Iterator[Record]:
        """Yield the answers in stored order; `tally` is told of everything else."""
        with self.path.open("rb") as file:
            yield from read_warc(Source(str(self.path), file), tally)


def read_warc(source: Source, tally: Tally) -> Iterator[Record]:
    """Yield the answers of a WARC file in stored order; bad records are skipped and told to `tally`."""
    for block in _read_blocks(source, tally):
        tally.revisits += record_type(block) == "revisit"
        try:
            record = to_record(block)
        except BadRecord as error:
            tally.damage.append(Damage(source.name, block.offset, str(error)))
            continue
        if record is not None:
            yield record


def _read_blocks(source: Source, tally: Tally) -> Iterator[Block]:
    def damaged(offset: int, reason: str) -> None:
        tally.damage.append(Damage(source.name, offset, reason))

    for frame in frames(source):
        yield from read_blocks(frame, damaged)
