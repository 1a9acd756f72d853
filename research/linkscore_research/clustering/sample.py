"""Labelled samples of stored sites: what clusterers are measured on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from linkscore_lab.datasets.site import Reply
from linkscore_lab.datasets.warc_site import WarcSite
from linkscore_scoring.clustering.sample import Link, SamplePage, with_in_links
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.features.bags import link_path_id, link_path_without_class
from linkscore_scoring.features.html import Extractor
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.hashing import hash64
from linkscore_scoring.urls.identity import host_of


@dataclass(frozen=True, slots=True)
class LabelledSample:
    """Pages of one site, and the class of each.

    Attributes
    ----------
    site
        What to call the site.
    pages
        Pages with the links among them.
    classes
        Page type or template of each page.
    """

    site: str
    pages: list[SamplePage]
    classes: list[str]


def site_name(warc: Path) -> str:
    """Return the name of an archive's site: the file name without ``.warc`` and ``.warc.gz``."""
    return warc.name.removesuffix(".gz").removesuffix(".warc")


def draw_sample(
    warc: Path,
    labels: Path,
    *,
    pages: int = 1_000,
    seed: int = 1,
    templates: Mapping[str, str] | None = None,
    seen_page: Callable[[], None] = lambda: None,
) -> LabelledSample:
    """Draw labelled pages of a stored site at random.

    Parameters
    ----------
    warc, labels
        Archive and label file, see `WarcSite`.
    pages, seed
        Pages to draw, fewer if the site has fewer, and seed of the draw. Redirects, errors and pages without
        displayed text, link or image are passed over.
    templates
        Page type -> class; None if the class is the page type.
    seen_page
        Called for each page drawn.

    Raises
    ------
    InvalidInput
        If archive or labels cannot be read, or a page type has no class.
    """
    site = WarcSite(warc, labels)
    try:
        types = site.labels()
        keys = list(types)
        extractor = Extractor()
        drawn: dict[int, SamplePage] = {}
        for i in np.random.default_rng(seed).permutation(len(keys)):
            if len(drawn) >= pages:
                break
            page = _page(extractor, keys[i], site.respond(keys[i]))
            if page is not None:
                drawn[int(i)] = page
                seen_page()
    finally:
        site.close()
    rows = sorted(drawn)
    classes = [_class(types[keys[i]], templates, labels) for i in rows]
    sample = [drawn[i] for i in rows]
    return LabelledSample(site_name(warc), with_in_links(sample, sample), classes)


def _page(extractor: Extractor, url: str, reply: Reply) -> SamplePage | None:
    if reply.is_redirect or reply.status >= 400:
        return None
    features = extractor.extract(reply.body, url=url, content_type=reply.headers.get("Content-Type", ""))
    if not features.paths.parents:
        return None
    return SamplePage(features.key, features.paths, _links(features))


def _links(features: PageFeatures) -> list[Link]:
    """Return the distinct links of a page to its own host."""
    host = host_of(features.url)
    ids = [
        (link_path_id(raw), link_path_id(link_path_without_class(raw)))
        for raw in features.links.link_path_table
    ]
    rows = zip(features.links.link_paths, features.links.keys, features.links.urls, strict=True)
    return list(dict.fromkeys((*ids[at], hash64(key)) for at, key, url in rows if host_of(url) == host))


def _class(page_type: str, templates: Mapping[str, str] | None, labels: Path) -> str:
    if templates is None:
        return page_type
    if page_type not in templates:
        raise InvalidInput(
            f"must give the template of every page type of {labels}, got none of {page_type!r}",
            field="page_types",
        )
    return templates[page_type]
