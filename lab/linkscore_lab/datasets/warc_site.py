"""A stored site: the response records of a WARC file, read where they lie.

The index keeps offsets, not bodies; a record is decompressed when it is asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from linkscore_lab.datasets.labels import read_labels
from linkscore_lab.datasets.site import Reply, follow, identity, identity_or_none
from linkscore_scoring.errors import InvalidInput

NOT_FOUND = Reply(404, {"Content-Type": "text/plain"}, b"no record of this URL\n")
# Bodies come out of warcio decoded, so what described their coding is no longer true.
_STALE_HEADERS = frozenset({"content-encoding", "transfer-encoding", "content-length", "connection"})


class WarcSite:
    """A site answered from a WARC file, plain or gzip by record; the first response record is the entry page.

    Of several records with one identity the first counts. Redirect records answer as redirects.

    Parameters
    ----------
    warc
        Path of the archive.
    labels
        Path of the labels (tab separated, with columns ``url`` and ``page_type``; may be gzip) or None.

    Raises
    ------
    InvalidInput
        If the archive cannot be read or holds no response record.
    """

    def __init__(self, warc: Path, labels: Path | None = None) -> None:
        records = _read_index(warc)
        self.entry = records[0][0]
        self._offsets: dict[str, int] = {}
        for url, offset in records:
            self._offsets.setdefault(identity(url), offset)
        self._labels = read_labels(labels) if labels is not None else {}
        self._lock = threading.Lock()
        self._file = warc.open("rb")

    def respond(self, url: str) -> Reply:
        """Return the stored answer of `url`, compared by identity, or a 404."""
        key = identity_or_none(url)
        if key is None or key not in self._offsets:
            return NOT_FOUND
        with self._lock:
            return self._read(self._offsets[key])

    def labels(self) -> Mapping[str, str]:
        """Page type by identity, as the labels file says."""
        return self._labels

    def known(self) -> frozenset[str]:
        """Identities a crawl may ask for: every record, but no redirect that leads out of the archive."""
        return frozenset(key for key in self._offsets if self._leads_somewhere(key))

    def close(self) -> None:
        """Close the archive."""
        self._file.close()

    def _leads_somewhere(self, key: str) -> bool:
        reply = self.respond(key)
        if not reply.is_redirect:
            return True
        final, last = follow(self, key)
        return not last.is_redirect and identity(final) in self._offsets

    def _read(self, offset: int) -> Reply:
        self._file.seek(offset)
        record = next(iter(ArchiveIterator(self._file)))
        headers = {
            name.title(): value
            for name, value in record.http_headers.headers
            if name.lower() not in _STALE_HEADERS
        }
        return Reply(int(record.http_headers.get_statuscode()), headers, record.content_stream().read())


def _read_index(warc: Path) -> list[tuple[str, int]]:
    try:
        with warc.open("rb") as file:
            records = list(_response_offsets(file))
    except ArchiveLoadFailed as error:
        raise InvalidInput(f"{warc}: must be a WARC file, got {error}", field="warc") from error
    if not records:
        raise InvalidInput(f"{warc}: needs at least one response record, got none", field="warc")
    return records


def _response_offsets(file: BinaryIO) -> Iterator[tuple[str, int]]:
    records: Any = ArchiveIterator(file)
    for record in records:
        if record.rec_type == "response" and record.http_headers is not None:
            yield record.rec_headers.get_header("WARC-Target-URI"), records.get_record_offset()
