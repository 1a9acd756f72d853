"""Sites in the files that Anthelion's simulator reads: index, network and labels, as its authors published.

``index``: id and URL; ``network``: id and the ids it links to; ``label``: ids of pages with markup. Fields
are separated by tabs, and each file may be gzip. Pages have no text but their links.
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Iterator
from html import escape
from pathlib import Path

from linkscore_lab.datasets.site import Reply, identity_or_none
from linkscore_scoring.errors import InvalidInput

WANTED, OTHER = "with_markup", "without"
"""Types of pages."""
_HTML = {"Content-Type": "text/html; charset=utf-8"}


class SimulatorSite:
    """A crawl in the published form; its first page is the first of the index."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self._urls = {row[0]: row[1] for row in _rows(folder, "index", least=2)}
        if not self._urls:
            raise InvalidInput("needs an index with at least one page", field="folder")
        self._links: dict[str, list[str]] = defaultdict(list)
        for source, *targets in _rows(folder, "network", least=1):
            unknown = next((id_ for id_ in (source, *targets) if id_ not in self._urls), None)
            if unknown is not None:
                raise InvalidInput(f"network names page {unknown}, which index has not", field="folder")
            self._links[source] += targets
        self._wanted = {row[0] for row in _rows(folder, "label", least=1)}
        self._ids = {identity_or_none(url) or "": id_ for id_, url in self._urls.items()}
        self.entry = next(iter(self._urls.values()))

    @property
    def wanted_types(self) -> frozenset[str]:
        """Pages with markup."""
        return frozenset({WANTED})

    def respond(self, url: str) -> Reply:
        """Return the page of a URL: its links."""
        id_ = self._ids.get(identity_or_none(url) or "")
        if id_ is None:
            return Reply(404, _HTML, b"")
        links = "".join(f'<a href="{escape(self._urls[to])}">{to}</a>' for to in self._links[id_])
        return Reply(200, _HTML, f"<html><body>{links}</body></html>".encode())

    def labels(self) -> dict[str, str]:
        """Return the type of every page, by identity."""
        return {key: WANTED if id_ in self._wanted else OTHER for key, id_ in self._ids.items() if key}


def _rows(folder: Path, name: str, *, least: int) -> Iterator[list[str]]:
    """Yield the fields of each line of a file; lines with too few are refused."""
    path = next(iter(sorted(folder.glob(f"{name}*"))), None)
    if path is None:
        raise InvalidInput(f"needs a file {name}", field="folder")
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            fields = line.rstrip("\n").split("\t")
            if len(fields) < least or not fields[0]:
                raise InvalidInput(f"{path.name}, line {number}: needs {least} fields", field="folder")
            yield fields
