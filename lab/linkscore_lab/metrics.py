"""The figures of a crawl, from the order in which pages came.

Notation: `order` = identities in fetch order, sampling included; `wanted` = the pages the crawl is for; a
page is valid when it is wanted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from linkscore_lab.page_facts import PageFacts

EARLY_PERCENT = 5


@dataclass(frozen=True, slots=True)
class Figures:
    """What one crawl achieved; ratios lie in [0, 1].

    Attributes
    ----------
    fetched
        Pages downloaded.
    valid_ratio
        Share of them that are wanted; the harvest rate of a crawl for a target type.
    valid_ratio_distinct
        The same, each content counted once.
    recall
        Share of the reachable wanted pages that were fetched.
    early_area
        Area under the harvest curve over the first 5 % of the site.
    duplicates
        Fetches whose content had come before.
    text_share
        Share of the site's distinct long text that was fetched.
    """

    fetched: int
    valid_ratio: float
    valid_ratio_distinct: float
    recall: float
    early_area: float
    duplicates: int
    text_share: float


def figures(order: Sequence[str], pages: Mapping[str, PageFacts], wanted: Collection[str]) -> Figures:
    """Return all figures of the crawl `order` over the reachable `pages`, some of which were `wanted`."""
    return Figures(
        fetched=len(order),
        valid_ratio=valid_ratio(order, wanted),
        valid_ratio_distinct=valid_ratio_distinct(order, pages, wanted),
        recall=recall(order, wanted),
        early_area=early_area(order, wanted, len(pages)),
        duplicates=duplicates(order, pages),
        text_share=text_share(order, pages),
    )


def valid_ratio(order: Sequence[str], wanted: Collection[str]) -> float:
    """Return wanted fetches / fetches; 0 for an empty crawl."""
    return _ratio(sum(key in wanted for key in order), len(order))


def valid_ratio_distinct(
    order: Sequence[str], pages: Mapping[str, PageFacts], wanted: Collection[str]
) -> float:
    """Return distinct contents among the wanted fetches / fetches; 0 for an empty crawl."""
    return _ratio(len({_content(key, pages) for key in order if key in wanted}), len(order))


def recall(order: Iterable[str], wanted: Collection[str]) -> float:
    """Return the share of `wanted` that was fetched; 0 if nothing is wanted."""
    return _ratio(len({key for key in order if key in wanted}), len(wanted))


def harvest_curve(order: Iterable[str], wanted: Collection[str]) -> list[int]:
    """Return good(n) for n = 1, 2, ...: wanted pages among the first n fetches."""
    return list(accumulate(key in wanted for key in order))


def early_area(order: Sequence[str], wanted: Collection[str], n_reachable: int) -> float:
    """Return the sum of good(n) over n = 1..N divided by N (N + 1) / 2; N = 5 % of the site, rounded down.

    A crawl that ends before N fetches keeps its last value; 0 for a site of fewer than 20 pages.
    """
    n_early = n_reachable * EARLY_PERCENT // 100
    curve = harvest_curve(order[:n_early], wanted)
    missing = n_early - len(curve)
    area = sum(curve) + missing * (curve[-1] if curve else 0)
    return _ratio(area, n_early * (n_early + 1) / 2)


def duplicates(order: Sequence[str], pages: Mapping[str, PageFacts]) -> int:
    """Return the number of fetches whose content had been fetched before."""
    return len(order) - len({_content(key, pages) for key in order})


def text_share(order: Iterable[str], pages: Mapping[str, PageFacts]) -> float:
    """Return characters of distinct long text blocks fetched / of all reachable pages; 0 without any."""
    fetched = _characters(pages[key] for key in order if key in pages)
    return _ratio(fetched, _characters(pages.values()))


def _characters(pages: Iterable[PageFacts]) -> int:
    return sum(dict(block for page in pages for block in page.blocks).values())


def _content(key: str, pages: Mapping[str, PageFacts]) -> str:
    """A page nobody surveyed (an error, say) is a copy of nothing."""
    return pages[key].content if key in pages else f"url {key}"


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
