"""Labelled pages of stored sites as rows of signals."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from linkscore_lab.archives import ArchiveRecord, open_archive
from linkscore_lab.datasets.site import identity_or_none, read_labels
from linkscore_lab.replay.prepare import spread
from linkscore_research.labelled import SitePageType, read_page_types, read_templates
from linkscore_scoring.errors import InvalidInput, LinkscoreError
from linkscore_scoring.features.html import extract

TYPES_FILE = "page_types.tsv"
PERMALINK_SUFFIX = "_permalink"  # of page types that show what another page shows
_ARCHIVE, _LABELS = ".warc.gz", ".labels.tsv.gz"
# Pages sent to a worker at a time: sending costs little beside parsing. Chosen, not measured.
_CHUNK = 32
# Of the pages drawn; another one gives other weights.
_SEED = 1


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled page."""

    site: str  # As the tables say; kind is ENTRY, INDEX, THREAD or OTHER
    page_type: str
    template: str
    kind: str
    url: str  # As stored
    pages: float  # Pages of the site that this one stands for: its share of those of its type
    signals: tuple[float, ...]  # (n_signals,)


@dataclass(frozen=True, slots=True)
class LabelledArchive:
    """A stored site with its tables."""

    archive: Path
    labels: Path
    types: Mapping[str, SitePageType]
    templates: Mapping[str, str]

    @property
    def name(self) -> str:
        """Name of the site."""
        return self.archive.name.removesuffix(_ARCHIVE)


def find_sites(corpora: Sequence[Path]) -> list[LabelledArchive]:
    """Return the labelled sites of some archives and folders of archives, by name.

    Each archive ``NAME.warc.gz`` needs ``NAME.labels.tsv.gz`` and a row in ``page_types.tsv`` beside it; in a
    folder archives without are passed over.
    """
    found = [site for path in corpora for site in (_folder(path) if path.is_dir() else [_site(path)])]
    if not found:
        rule = f"needs archives with labels and {TYPES_FILE}, got {[str(path) for path in corpora]}"
        raise InvalidInput(rule, field="corpora")
    return sorted(found, key=lambda site: site.name)


def read_examples(site: LabelledArchive, *, per_type: int, workers: int = 1) -> list[Example]:
    """Return up to `per_type` pages of each type, drawn by a fixed seed, or all if it is 0.

    Permalinks of posts are left out: they copy threads.
    """
    labels = read_labels(site.labels)
    drawn: dict[str, list[ArchiveRecord]] = defaultdict(list)
    for record in open_archive([site.archive]).records():
        kind = site.types.get(labels.get(identity_or_none(record.url) or "", ""))
        if (
            kind is not None
            and kind.kind
            and record.status < 300
            and not kind.name.endswith(PERMALINK_SUFFIX)
        ):
            drawn[kind.name].append(record)
    found: list[Example] = []
    for name, records in sorted(drawn.items()):
        some = _draw(records, per_type)
        blank = Example(
            site.name, name, site.templates[name], site.types[name].kind, "", len(records) / len(some), ()
        )
        found += [replace(blank, url=url, signals=row) for url, row in _signals(some, workers)]
    return found


def _folder(folder: Path) -> Iterable[LabelledArchive]:
    if (folder / TYPES_FILE).exists():
        for name in read_page_types(folder / TYPES_FILE):
            if (folder / f"{name}{_ARCHIVE}").exists() and (folder / f"{name}{_LABELS}").exists():
                yield _site(folder / f"{name}{_ARCHIVE}")


def _site(archive: Path) -> LabelledArchive:
    name, table = archive.name.removesuffix(_ARCHIVE), archive.parent / TYPES_FILE
    labels = archive.parent / f"{name}{_LABELS}"
    types = read_page_types(table).get(name) if table.exists() else None
    if types is None or not labels.exists():
        raise InvalidInput(
            f"{archive}: needs {labels.name} and a row in {TYPES_FILE} beside it", field="corpora"
        )
    return LabelledArchive(archive, labels, {t.name: t for t in types}, read_templates(table)[name])


def _draw(records: Sequence[ArchiveRecord], most: int) -> Sequence[ArchiveRecord]:
    if not most or len(records) <= most:
        return records
    return random.Random(_SEED).sample(records, most)


def _signals(records: Sequence[ArchiveRecord], workers: int) -> Iterable[tuple[str, tuple[float, ...]]]:
    chunks = (records[i : i + _CHUNK] for i in range(0, len(records), _CHUNK))
    for rows in spread(_measure, chunks, workers):
        yield from rows


def _measure(records: Sequence[ArchiveRecord]) -> list[tuple[str, tuple[float, ...]]]:
    found = []
    for record in records:
        try:
            page = extract(
                record.body, url=record.url, content_type=record.headers.get("Content-Type", ""), layout=True
            )
        except LinkscoreError:
            continue
        if page.layout is not None:
            found.append((record.url, tuple(page.layout)))
    return found
