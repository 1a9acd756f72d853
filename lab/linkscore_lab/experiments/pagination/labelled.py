"""Stored pages whose page link links are labelled, and the labels put to the links of their features."""

from __future__ import annotations

import csv
import gzip
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from linkscore_lab.archives import open_archive
from linkscore_lab.datasets.site import identity_or_none
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.features.html import Extractor
from linkscore_scoring.features.types import Links, PageFeatures

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
    opener = gzip.open if path.suffix == ".gz" else open
    labels: dict[str, list[Label]] = defaultdict(list)
    with opener(path, "rt", encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if missing := _COLUMNS - set(rows.fieldnames or ()):
            raise InvalidInput(f"{path}: column {', '.join(sorted(missing))} missing", field="links")
        for row in rows:
            labels[row["page_url"]].append((row["href"], row["anchor_text"] or "", row["label"]))
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
