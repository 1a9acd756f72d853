"""Page links found, held against labels: from the links of a page alone, with what stored destinations add,
and by the types of pages.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from urllib.parse import urlsplit
from zlib import crc32

from linkscore_lab.archives import open_archive
from linkscore_lab.datasets.labels import read_labels, read_table
from linkscore_lab.datasets.site import identity_or_none
from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.bags import link_path_without_class
from linkscore_scoring.features.html import Extractor
from linkscore_scoring.features.types import Links, PageFeatures
from linkscore_scoring.hashing import hash64
from linkscore_scoring.pagination.anchors import KIND_NAMES
from linkscore_scoring.pagination.confirmation import CONFIRMED, DENIED, PageLinkConfirmation
from linkscore_scoring.pagination.page_links import page_links_of
from linkscore_scoring.types import PageObservation, links_of_page

# 97.5 % quantile of the normal distribution: intervals of 95 %.
_Z = 1.96


@dataclass(slots=True)
class Counts:
    """Right, wrong and missed links."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    def add(self, found: bool, wanted: bool) -> None:
        """Count one link."""
        self.right += found and wanted
        self.wrong += found and not wanted
        self.missed += wanted and not found

    @property
    def precision(self) -> tuple[float, float, float]:
        """Right of those found, with its interval."""
        return wilson(self.right, self.right + self.wrong)

    @property
    def recall(self) -> tuple[float, float, float]:
        """Found of those wanted, with its interval."""
        return wilson(self.right, self.right + self.missed)


def wilson(hits: int, n: int) -> tuple[float, float, float]:
    """Return a share and its 95 % Wilson interval; (nan, 0, 1) of nothing.

    Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927.
    """
    if n == 0:
        return float("nan"), 0.0, 1.0
    share, z2 = hits / n, _Z * _Z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return share, max(0.0, middle - half), min(1.0, middle + half)


_COLUMNS = {"page_url", "href", "label", "anchor_text"}
_BASE = re.compile(rb"<base\b", re.IGNORECASE)
Label = tuple[str, str, str]
"""URL, anchor text and label of a link."""


@dataclass(frozen=True, slots=True)
class LabelledPage:
    """A page and what its links are labelled.

    Attributes
    ----------
    features
        Features of the page, a base element obeyed.
    labels
        Label of each link, empty for those that are no page links.
    lost
        Labelled links that are no links to crawl: ``javascript:``, a bare fragment.
    """

    features: PageFeatures
    labels: list[str]
    lost: int


def read_link_labels(path: Path) -> dict[str, list[Label]]:
    """Return the labelled links of each page.

    Raises
    ------
    InvalidInput
        If a column is missing.
    """
    labels: dict[str, list[Label]] = defaultdict(list)
    for _, row in read_table(path, _COLUMNS, field="links"):
        labels[row["page_url"]].append((row["href"], row["anchor_text"], row["label"]))
    return dict(labels)


def labelled_pages(archive: Path, links: Path) -> Iterator[LabelledPage]:
    """Yield every page of an archive once, those without a labelled link included.

    The labels name URLs as if pages had no base element, so links are matched as they would be without it;
    features are those of the page as it is. One labelled row is one anchor.
    """
    wanted, extractor, seen = read_link_labels(links), Extractor(), set[str]()
    for record in open_archive([archive]).records():
        if record.url in seen:
            continue
        seen.add(record.url)
        kind = record.headers.get("Content-Type", "")
        page = extractor.extract(record.body, url=record.url, content_type=kind)
        bare = extractor.extract(_BASE.sub(b"<x-base", record.body), url=record.url, content_type=kind)
        labels, lost = _put(wanted.get(record.url, []), bare.links)
        yield LabelledPage(page, labels if len(page.links) == len(bare.links) else [], lost)


def _put(given: list[Label], links: Links) -> tuple[list[str], int]:
    """Return the label of each link, by URL and anchor, else by URL; and how many labels found no link."""
    waiting: dict[str, list[Label]] = defaultdict(list)
    for label in given:
        waiting[identity_or_none(label[0].partition("#")[0]) or label[0]].append(label)
    labels = [""] * len(links)
    for by_anchor in (True, False):
        for row, key in enumerate(links.keys):
            for label in waiting.get(key, []):
                if not labels[row] and (not by_anchor or " ".join(label[1].split()) == links.anchors[row]):
                    labels[row] = label[2]
                    waiting[key].remove(label)
                    break
    return labels, sum(map(len, waiting.values()))


FOLDS = 2
"""Hosts are parted by the CRC-32 of their name: the rules were written while looking at fold 0 only."""


@dataclass(slots=True)
class PageLinkFigures:
    """What was measured.

    Attributes
    ----------
    pages, hosts, lost
        Pages, hosts, and labelled links that no crawler can follow.
    rows
        Counts by name of the row: all links, each fold, pages without page links, each label.
    same_kind
        Of the page links found and labelled, those of the labelled kind.
    stored
        Counts of the links whose destination is stored: found, found and not denied, found and confirmed.
    """

    pages: int = 0
    hosts: int = 0
    lost: int = 0
    rows: dict[str, Counts] = field(default_factory=lambda: defaultdict(Counts))
    same_kind: int = 0
    stored: dict[str, Counts] = field(default_factory=lambda: defaultdict(Counts))


def measure_page_links(pages: Iterable[LabelledPage]) -> PageLinkFigures:
    """Return the figures of labelled pages. Cost: a few ms a page."""
    figures = PageLinkFigures()
    by_host: dict[str, list[tuple[LabelledPage, list[int]]]] = defaultdict(list)
    for page in pages:
        kinds = page_links_of(page.features.url, page.features.links)
        by_host[host_of_page(page.features.url)].append((page, kinds))
        _count(figures, page, kinds)
    figures.hosts = len(by_host)
    for found in by_host.values():
        _count_stored(figures, found)
    return figures


def host_of_page(url: str) -> str:
    """Return the last two labels of the host of a URL."""
    return ".".join((urlsplit(url).hostname or "").split(".")[-2:])


def _count(figures: PageLinkFigures, page: LabelledPage, kinds: list[int]) -> None:
    figures.pages += 1
    figures.lost += page.lost
    fold = crc32(host_of_page(page.features.url).encode()) % FOLDS
    names = ["all links", f"hosts of fold {fold}"]
    if not any(page.labels):
        names.append("pages without page links")
    for kind, label in zip(kinds, page.labels, strict=False):
        for name in names:
            figures.rows[name].add(kind > 0, bool(label))
        if label:
            figures.rows[label].add(kind > 0, True)
            figures.same_kind += KIND_NAMES[kind] == label


def _count_stored(figures: PageLinkFigures, found: list[tuple[LabelledPage, list[int]]]) -> None:
    """Count the links of one host that lead to another stored page."""
    confirmation = PageLinkConfirmation(enough=sys.maxsize)
    observed = [_observe(page, kinds) for page, kinds in found]
    for observation, places in observed:
        confirmation.observe(observation, places)
    stored = {observation.key for observation, _ in observed}
    for (page, kinds), (observation, _) in zip(found, observed, strict=True):
        for kind, label, target in zip(kinds, page.labels, observation.links.keys, strict=False):
            if target not in stored or target == observation.key:
                continue
            verdict = confirmation.verdict_of_link(observation.key, target)
            figures.stored["found"].add(kind > 0, bool(label))
            figures.stored["found, not denied"].add(kind > 0 and verdict != DENIED, bool(label))
            figures.stored["found and confirmed"].add(kind > 0 and verdict == CONFIRMED, bool(label))


def _observe(page: LabelledPage, kinds: list[int]) -> tuple[PageObservation, list[int]]:
    """Return a page as policies see it, and the place of each link."""
    links, key = page.features.links, hash64(page.features.key)
    places = [hash64(link_path_without_class(links.link_path_table[at])) for at in links.link_paths]
    targets, n = list(map(hash64, links.keys)), len(links)
    batch = links_of_page(links.urls, targets, places, [0] * n, links.anchors, source=-1, depth=1)
    observation = PageObservation(
        seq=0,
        key=key,
        url=page.features.url,
        requested=key,
        depth=0,
        pattern=0,
        contexts=[],
        failed=False,
        refetch=False,
        links=batch,
        paths=page.features.paths,
        page_links=kinds,
    )
    return observation, places


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
