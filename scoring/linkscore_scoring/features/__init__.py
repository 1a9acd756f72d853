"""From the bytes of a page to features: tag paths, text blocks, links, and records where they are asked for.

`extract` reads HTML as it was fetched; `page_from_extracted` takes what a crawler parsed itself. Both give
`PageFeatures`: plain columns, no HTML, no lxml. Everything later reads these and nothing else.
"""

from linkscore_scoring.features.bags import (
    link_path_id,
    link_path_without_class,
    normalise_link_path,
    plain_bag,
)
from linkscore_scoring.features.body import decompress, detect_charset, is_html
from linkscore_scoring.features.extracted import ExtractedLink, page_from_extracted, with_links
from linkscore_scoring.features.html import Extractor, extract
from linkscore_scoring.features.types import Limits, Links, PageFeatures, PageLayout, PathTrie

__all__ = [
    "ExtractedLink",
    "Extractor",
    "Limits",
    "Links",
    "PageFeatures",
    "PageLayout",
    "PathTrie",
    "decompress",
    "detect_charset",
    "extract",
    "is_html",
    "link_path_id",
    "link_path_without_class",
    "normalise_link_path",
    "page_from_extracted",
    "plain_bag",
    "with_links",
]
