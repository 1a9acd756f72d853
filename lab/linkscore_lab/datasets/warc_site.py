"""A stored site: the answers of an archive by URL.

The archive is read once, as a replay reads it; its answers wait, packed, in a temporary file.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from linkscore_lab.archives import open_archive
from linkscore_lab.datasets.labels import read_labels
from linkscore_lab.datasets.site import Reply, follow, identity, identity_or_none
from linkscore_lab.replay.blobs import Blob, Blobs, packed

NOT_FOUND = Reply(404, {"Content-Type": "text/plain"}, b"no record of this URL\n")


class _Stored(NamedTuple):
    """An answer without its body, and where that lies."""

    head: Reply
    body: Blob


class WarcSite:
    """A site answered from a WARC file or a WACZ package; the first answer is the entry page.

    Of several records with one identity the first counts, of those without an error if there are any.
    Redirect records answer as redirects. Records that cannot be read are left out.
    """

    def __init__(self, warc: Path, labels: Path | None = None) -> None:
        archive = open_archive([warc])
        self.entry = archive.entry
        self._labels = read_labels(labels) if labels is not None else {}
        self._lock = threading.Lock()
        self._blobs = Blobs()
        self._stored: dict[str, _Stored] = {}
        for record in archive.records():
            key = identity_or_none(record.url)
            stored = self._stored.get(key or "")
            if key is not None and (stored is None or record.status < 400 <= stored.head.status):
                head = Reply(record.status, record.headers, b"")
                self._stored[key] = _Stored(head, self._blobs.add(packed(record.body)))

    def respond(self, url: str) -> Reply:
        """Return the stored answer of `url`, compared by identity, or a 404."""
        stored = self._stored.get(identity_or_none(url) or "")
        if stored is None:
            return NOT_FOUND
        # A decompressor serves one thread at a time.
        with self._lock:
            return stored.head._replace(body=self._blobs.read(stored.body))

    def labels(self) -> Mapping[str, str]:
        """Page type by identity, as the labels file says."""
        return self._labels

    def known(self) -> frozenset[str]:
        """Identities a crawl may ask for: every record, but no redirect that leads out of the archive."""
        return frozenset(key for key in self._stored if self._leads_somewhere(key))

    def close(self) -> None:
        """Give the temporary file back."""
        self._blobs.close()

    def _leads_somewhere(self, key: str) -> bool:
        if not self._stored[key].head.is_redirect:
            return True
        final, last = follow(self, key)
        return not last.is_redirect and identity(final) in self._stored
