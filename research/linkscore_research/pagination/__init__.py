"""How well page links are told: labelled links of stored pages against `linkscore_scoring.pagination`."""

from linkscore_research.pagination.command import run_by_type, run_page_links
from linkscore_research.pagination.measure import (
    Counts,
    PageLinkFigures,
    measure_by_type,
    measure_page_links,
)

__all__ = [
    "Counts",
    "PageLinkFigures",
    "measure_by_type",
    "measure_page_links",
    "run_by_type",
    "run_page_links",
]
