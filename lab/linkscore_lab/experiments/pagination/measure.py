"""Page links found against labels: from the links of a page alone, and with what stored destinations add."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit
from zlib import crc32

from linkscore_lab.experiments.pagination.counts import Counts
from linkscore_lab.experiments.pagination.labelled import LabelledPage
from linkscore_scoring.features.bags import apath_without_class
from linkscore_scoring.hashing import hash64
from linkscore_scoring.pagination.anchors import KIND_NAMES
from linkscore_scoring.pagination.confirmation import CONFIRMED, DENIED, PageLinkConfirmation
from linkscore_scoring.pagination.page_links import page_links_of
from linkscore_scoring.types import PageObservation, links_of_page

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
        confirmation.see(observation, places)
    stored = {observation.key for observation, _ in observed}
    for (page, kinds), (observation, _) in zip(found, observed, strict=True):
        for kind, label, target in zip(kinds, page.labels, observation.links.keys, strict=False):
            if target not in stored or target == observation.key:
                continue
            verdict = confirmation.judge_link(observation.key, target)
            figures.stored["found"].add(kind > 0, bool(label))
            figures.stored["found, not denied"].add(kind > 0 and verdict != DENIED, bool(label))
            figures.stored["found and confirmed"].add(kind > 0 and verdict == CONFIRMED, bool(label))


def _observe(page: LabelledPage, kinds: list[int]) -> tuple[PageObservation, list[int]]:
    """Return a page as policies see it, and the place of each link."""
    links, key = page.features.links, hash64(page.features.key)
    places = [hash64(apath_without_class(links.apath_table[at])) for at in links.apaths]
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
