"""Visits in Parquet files, of a crawl that goes from one machine to another: shared first, then copied here.

A batch is sent to the files that all share (`SharedFiles`) before its event goes to the log, under
``BATCH.DIGEST/2026-09-07.CHECKSUM.parquet``, and is staged nowhere else. Who has the crawl copies what came
since it last looked, its own batches too, when somebody asks for visits. Of a batch that was sent, and is in
no log, nobody sees more than a staged file.

::

    CRAWL/browse/seen                         identity of the log, and number of the last file that was copied
    CRAWL/browse/staged/BATCH.DIGEST/         files of a batch that the log does not have, or not yet
    CRAWL/browse/days/                        as `files` has them
"""

from __future__ import annotations

import logging
import os
import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from linkscore_server.browse_logs.visits.base import token_of
from linkscore_server.browse_logs.visits.files import DRAFT, MAX_PARTS, FileVisits, draft_of
from linkscore_server.browse_logs.visits.tables import digest_of
from linkscore_server.storage import failpoints
from linkscore_server.storage.base import SharedFile, SharedFiles
from linkscore_server.storage.disk import ensure_folder, replace_file, sync

if TYPE_CHECKING:
    import duckdb

FAILPOINTS = (
    "visits.sent",  # a batch is where others find it, and in no log
    "visits.copied",  # what came since is here, and will be copied again
    "visits.noted",  # it will not, and is not where it belongs
)
"""Places that a batch passes beside those of `files`."""

_NAME = re.compile(r"([0-9a-f]{32}\.[0-9a-f]{32})/(\d{4}-\d\d-\d\d)(\.[0-9a-f]{32}\.parquet)")
_log = logging.getLogger(__name__)


class SharedVisits(FileVisits):
    """The visits of one crawl that others may have next, copied below a folder of this process.

    Parameters
    ----------
    folder
        Need not exist.
    files
        What all share who may have the crawl.
    """

    def __init__(self, folder: Path, files: SharedFiles, *, max_parts: int = MAX_PARTS) -> None:
        super().__init__(folder, max_parts=max_parts)
        self._files = files

    def salt(self) -> bytes:
        """See `VisitStore.salt`: of all who have the crawl."""
        return self._files.secret()

    def stage(self, batch_id: str, con: duckdb.DuckDBPyConnection) -> dict[int, int]:
        """See `VisitStore.stage`."""
        for folder in (self._folder, self._staged):
            ensure_folder(folder)
        batch = f"{token_of(batch_id)}.{digest_of(con)}"
        draft = self._staged / f"{batch}{DRAFT}"
        try:
            if days := draft_of(draft, con):
                parts = sorted(draft.iterdir())
                self._files.add((f"{batch}/{part.name}", part.read_bytes()) for part in parts)
        finally:
            shutil.rmtree(draft)
        failpoints.reached("visits.sent")
        return days

    def publish(self, batch_id: str) -> None:
        """See `VisitStore.publish`: `catch_up` does."""

    def recover(self, imported: Collection[str]) -> None:
        """See `VisitStore.recover`: which batches count is seen to by `catch_up`."""
        self.sweep()
        for draft in self._staged.glob(f"*{DRAFT}"):
            shutil.rmtree(draft)

    def catch_up(self, imported: Mapping[str, str]) -> None:
        """See `VisitStore.catch_up`; of two batches of one id that with the digest of the log counts."""
        if not imported:
            return
        for folder in (self._folder, self._staged, self._days):
            ensure_folder(folder)
        before = number = self._number()
        for file in self._files.after(number):
            self._copy(file)
            number = file.number
        failpoints.reached("visits.copied")
        if number != before:
            self._note(number)
        failpoints.reached("visits.noted")
        self._settle(imported)

    def expire(self, arrived_before_s: float) -> list[int]:
        """See `VisitStore.expire`; batches that are in no log go too."""
        for batch in self._batches():
            if _arrived_s(batch) < arrived_before_s:
                shutil.rmtree(batch)
        if (seen := seen_in(self._folder)).exists():
            seen.touch()
        return super().expire(arrived_before_s)

    def _number(self) -> int:
        """Return the number of the last file that was copied; what was copied of another log goes."""
        if not (seen := seen_in(self._folder)).exists():
            return 0
        identity, _, number = seen.read_text(errors="replace").strip().partition(" ")
        if identity == self._files.identity and number.isdecimal():
            return int(number)
        for folder in (*self._days.iterdir(), *self._staged.iterdir()):
            shutil.rmtree(folder)
        return 0

    def _note(self, number: int) -> None:
        path = seen_in(self._folder)
        replace_file(path, f"{self._files.identity} {number}\n".encode(), draft=path.with_suffix(DRAFT))

    def _copy(self, file: SharedFile) -> None:
        """Stage a file, instead of one of the same batch and day."""
        if (found := _NAME.fullmatch(file.name)) is None:
            _log.warning("%s: shared file %d, %r, is no file of visits", self._folder, file.number, file.name)
            return
        batch, day, rest = found.groups()
        folder = self._staged / batch
        ensure_folder(folder)
        path = folder / f"{day}{rest}"
        for other in folder.glob(f"{day}.*"):
            other.unlink()
        replace_file(path, file.body, draft=folder / f"{day}{DRAFT}")
        os.utime(path, (file.arrived_s, file.arrived_s))

    def _settle(self, imported: Mapping[str, str]) -> None:
        """Move batches of the log to their days, and drop others of the same ids; the rest may come yet."""
        if not (staged := list(self._batches())):
            return
        digests = {token_of(batch_id): digest for batch_id, digest in imported.items()}
        for batch in staged:
            token, _, digest = batch.name.partition(".")
            if digests.get(token) == digest:
                self.move(batch, token)
            elif token in digests:
                shutil.rmtree(batch)
        sync(self._staged)

    def _batches(self) -> Iterator[Path]:
        """Yield the folders of batches that are copied and not settled."""
        found = sorted(self._staged.iterdir()) if self._staged.exists() else []
        return (batch for batch in found if batch.suffix != DRAFT)


def seen_in(folder: Path) -> Path:
    """Return the file that says what is copied of the visits in a folder."""
    return folder / "seen"


def drop_left(folders: Collection[Path], before_s: float) -> None:
    """Delete copies of visits of crawls that another process has, unless somebody had them here since."""
    for folder in folders:
        seen = seen_in(folder)
        if seen.exists() and seen.stat().st_mtime < before_s:
            shutil.rmtree(folder)


def _arrived_s(batch: Path) -> float:
    return max((part.stat().st_mtime for part in batch.iterdir()), default=batch.stat().st_mtime)
