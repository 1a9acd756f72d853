"""Figures that know which pages are copies and what text is on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from linkscore_lab.datasets.page_facts import PageFacts
from linkscore_lab.metrics.ratios import ratio


def valid_ratio_distinct(
    order: Sequence[str], pages: Mapping[str, PageFacts], wanted: Collection[str]
) -> float:
    """Return distinct contents among the wanted fetches / fetches; 0 for an empty crawl."""
    return ratio(len({_content(key, pages) for key in order if key in wanted}), len(order))


def distinct(order: Iterable[str], pages: Mapping[str, PageFacts]) -> int:
    """Return the number of different contents fetched."""
    return len({_content(key, pages) for key in order})


def duplicates(order: Sequence[str], pages: Mapping[str, PageFacts]) -> int:
    """Return the number of fetches whose content had been fetched before."""
    return len(order) - distinct(order, pages)


def text_share(order: Iterable[str], pages: Mapping[str, PageFacts]) -> float:
    """Return characters of distinct long text blocks fetched / of all reachable pages; 0 without any."""
    fetched = _characters(pages[key] for key in order if key in pages)
    return ratio(fetched, _characters(pages.values()))


def _characters(pages: Iterable[PageFacts]) -> int:
    return sum(dict(block for page in pages for block in page.blocks).values())


def _content(key: str, pages: Mapping[str, PageFacts]) -> str:
    """A page nobody surveyed (an error, say) is a copy of nothing."""
    return pages[key].content if key in pages else f"url {key}"
