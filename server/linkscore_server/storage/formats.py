"""The formats of the data folder: every kind of file, its number, and where the number stands.

The number of a kind changes when its files are written so that the version before could not read them.
Whoever changes one adds what reads the old number, or says in the changelog that old folders are refused: a
log of another number is refused by name; a snapshot of a number that is not read is passed over, for the log
has it all.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkscore_scoring.errors import CorruptState

__all__ = [
    "ARCHIVE",
    "CUT_HEADER",
    "FORMATS",
    "SECRET_HEADER",
    "SEGMENT_HEADER",
    "SNAPSHOTS_READ",
    "SNAPSHOT_MAGIC",
    "TICKET_KEY",
    "VISITS_KEY",
    "FileFormat",
    "OtherVersion",
    "unreadable",
]


@dataclass(frozen=True, slots=True)
class FileFormat:
    """One kind of file.

    Attributes
    ----------
    name
        What the kind is called.
    path
        Where its files lie below the data folder.
    number
        Number of the format that is written.
    mark
        Where a file says its number.
    holds
        What it holds.
    """

    name: str
    path: str
    number: int
    mark: str
    holds: str


SEGMENT = FileFormat(
    "log segment",
    "crawls/NAME/*.log",
    1,
    "bytes 6 to 8, after `LSLOG`",
    "frames of events (`storage/frames.py`), each event msgpack of its kind's number and its values "
    "(`engine/events.py`); the configuration of the crawl is its first event",
)
SNAPSHOT = FileFormat(
    "snapshot",
    "crawls/NAME/snapshot*",
    7,
    "bytes 7 and 8, after `LSSNAP`",
    "checksum, number of the last event, zstd of msgpack of the crawl's state; derived from the log",
)
SNAPSHOTS_READ = (5, 6, SNAPSHOT.number)
"""Numbers of snapshots, and of files of sites, that are read: in 5 `harvest` had counted no menus, up to 6
sampled pages were rows, and files of sites had no events."""

SITES = FileFormat(
    "sites",
    "crawls/NAME/sites.db",
    SNAPSHOT.number,
    "SQLite's `user_version`: that of snapshots, which hold the same states",
    "SQLite: zstd of msgpack of each site's state, of events that changed it since, and of what is of no "
    "site, with checksums (`storage/sites.py`); derived from the log. While the server runs, `sites.db-wal` "
    "lies beside it",
)
CUT = FileFormat(
    "cut mark",
    "crawls/NAME/cut",
    1,
    "bytes 6 to 8, after `LSCUT`",
    "number of the last event that was cut from the log, and a checksum; only with `keep_log = snapshots`",
)
VISITS = FileFormat(
    "visits of a day",
    "crawls/NAME/browse/*/*/*.parquet",
    3,
    "Parquet metadata `linkscore_format`; files without it have number 1, which had no checksum in the name; "
    "those without a referrer of another site are written with number 2",
    "visits of one batch of browse log records, or of several merged, with the columns of "
    "`browse_logs/visits/tables.py`",
)
_SECRET = 2
"""Number of salts and ticket keys, which are laid out alike: 2 since they carry a checksum."""
_SECRET_MARK = "bytes 6 to 8, after `LSKEY`; files of number 1 have no header and no checksum"  # noqa: S105
SALT = FileFormat(
    "salt",
    "crawls/NAME/browse/salt",
    _SECRET,
    _SECRET_MARK,
    "32 random bytes and their checksum (`storage/secret_files.py`); the secret of the pseudonyms of clients",
)
TICKET_KEY = FileFormat(
    "ticket key",
    "ticket.key",
    _SECRET,
    _SECRET_MARK,
    "32 random bytes and their checksum (`storage/secret_files.py`); tickets carry a number of their own",
)
LOCK = FileFormat("lock", "LOCK", 1, "none", "nothing; held by the running server")

ARCHIVE = FileFormat(
    "archive",
    "FILE",
    1,
    "`format` in `manifest.json`, its first member",
    "one crawl as `linkscore data export` writes it: zstd of a tar of its folder, with checksums",
)

FORMATS = (SEGMENT, SITES, SNAPSHOT, CUT, VISITS, SALT, TICKET_KEY, LOCK)
"""Every kind of file that a server leaves in its data folder."""

SEGMENT_HEADER = b"LSLOG" + SEGMENT.number.to_bytes(3, "big")
"""First bytes of every log segment."""

CUT_HEADER = b"LSCUT" + CUT.number.to_bytes(3, "big")
"""First bytes of every cut mark."""

SECRET_HEADER = b"LSKEY" + _SECRET.to_bytes(3, "big")
"""First bytes of every salt and ticket key."""

SNAPSHOT_MAGIC = {number: b"LSSNAP" + number.to_bytes(2, "big") for number in SNAPSHOTS_READ}
"""First bytes of snapshots by their number."""

VISITS_OF_SITES = 2
"""Number of `VISITS` whose referrers are all of the site of their page: earlier versions read them."""

VISITS_KEY = "linkscore_format"
"""Name of the Parquet metadata that holds the number of `VISITS`."""


class OtherVersion(CorruptState):
    """What is stored is sound, and not as this version stores it: another one wrote it; it is not damaged."""


def unreadable(place: str, seq: int, error: Exception) -> OtherVersion:
    """Return what to say of an event whose checksum fits, and which cannot be read all the same."""
    return OtherVersion(
        f"{place}: event {seq} is not damaged, its checksum fits, but another version of linkscore wrote it "
        f"({error}), which called its format {SEGMENT.number} too: open the folder with that version; "
        "`linkscore data check` names all such crawls"
    )
