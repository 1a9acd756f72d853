"""Page links against page types: sites whose later pages are labelled ``board_page``, ``thread_page``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from linkscore_lab.archives import open_archive
from linkscore_lab.datasets.labels import read_labels
from linkscore_lab.experiments.pagination.counts import Counts
from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.html import Extractor
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.pagination.page_links import page_links_of

LATER = "_page"


def measure_by_type(archive: Path, labels: Path) -> dict[str, Counts]:
    """Return counts by page type of the source, and of all.

    Counted are pairs of a page and another stored one it links to. Found: a link of the pair is told a page
    page link. Wanted: the other page is a later one, its type ends in ``_page``. Pairs with a page of a type
    that has later ones are left out: the link to a thread may be its title, or the number 1.
    """
    types = read_labels(labels)
    firsts = {name.removesuffix(LATER) for name in types.values() if name.endswith(LATER)}
    counts: dict[str, Counts] = {"all": Counts()}
    for page in _pages(archive):
        source = types.get(page.key, "")
        found: dict[str, bool] = {}
        for key, kind in zip(page.links.keys, page_links_of(page.url, page.links), strict=True):
            found[key] = found.get(key, False) or kind > 0
        for key, is_found in found.items():
            name = types.get(key, "")
            if not name or key == page.key or name in firsts:
                continue
            for row in ("all", source):
                counts.setdefault(row, Counts()).add(is_found, name.endswith(LATER))
    return {name: row for name, row in counts.items() if row.right + row.wrong + row.missed}


def _pages(archive: Path) -> Iterator[PageFeatures]:
    extractor, seen = Extractor(), set[str]()
    for record in open_archive([archive]).records():
        if record.status >= 300:
            continue
        try:
            page = extractor.extract(
                record.body, url=record.url, content_type=record.headers.get("Content-Type", "")
            )
        except InvalidPage:
            continue
        if page.key not in seen:
            seen.add(page.key)
            yield page
