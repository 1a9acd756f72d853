"""Which order fetches pages that read well first? ``python -m linkscore_research.wanted.quality FOLDER...``.

The policies of Neural Prioritisation beside ours, on stored sites: nothing is asked for but `quality_weight`.
Quality is that of `features.text_quality`, where the paper asks a language model.

References
----------
Pezzuti, MacAvaney, Tonellotto: Neural Prioritisation for Web Crawling. ICTIR 2025, arXiv 2506.16146.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import click
from rich.console import Console
from rich.table import Table

from linkscore_cli.output import figures_to, json_file_option, write_json
from linkscore_lab.replay.crawl import CrawlPlan, crawl
from linkscore_lab.replay.in_process import InProcessScorer
from linkscore_lab.replay.prepare import prepare_site
from linkscore_lab.replay.scorer import CrawlScorer, CrawlSetup
from linkscore_lab.replay.stored import StoredSite
from linkscore_research.wanted.orders import Order
from linkscore_research.wanted.tasks import source
from linkscore_scoring.features.text_quality import Measures, quality_of
from linkscore_scoring.features.types import Links, PageFeatures, Words
from linkscore_scoring.wanted import Wanted

SHARES = (0.1, 0.25)
"""Shares of the reachable pages after which the mean quality of what was fetched is told."""
_WANTED = Wanted(quality_weight=1.0)
Combined = Callable[[Sequence[float]], float]


class ParentQuality(Order):
    """A link is worth the quality of the pages it stands on, combined: QFirst, QMin, QMean of the paper.

    Parameters
    ----------
    combined
        Makes one value of the qualities of these pages, in the order they were fetched.
    """

    def __init__(self, combined: Combined) -> None:
        self._combined = combined
        self._quality = 0.0
        self._parents: dict[str, list[float]] = {}

    def learn(self, key: str, page: PageFeatures | None) -> None:
        """Note how well a page reads."""
        self._quality = page_quality(page)

    def scores(self, key: str, links: Links) -> list[float]:
        """Return the combined quality of the pages that show each link."""
        for target in dict.fromkeys(links.keys):
            self._parents.setdefault(target, []).append(self._quality)
        return [self._combined(self._parents[target]) for target in links.keys]


ORDERS: Mapping[str, Callable[[], CrawlScorer]] = {
    "breadth_first": lambda: InProcessScorer(CrawlSetup("breadth_first")),
    "q_first": lambda: ParentQuality(lambda parents: parents[0]),
    "q_min": lambda: ParentQuality(min),
    "q_mean": lambda: ParentQuality(fmean),
    "harvest": lambda: InProcessScorer(CrawlSetup("harvest")),
    "topic": lambda: InProcessScorer(CrawlSetup("topic", wanted=_WANTED)),
}
"""Orders by name; only `topic` is told that quality counts."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """Mean quality of the pages that an order fetched first, after each of `SHARES` of the site."""

    site: str
    order: str
    quality: tuple[float, ...]


def page_quality(page: PageFeatures | None) -> float:
    """Return how well a page reads, in [0, 1]; 0 of what has no text."""
    measures = page.words.measures if page is not None and page.words is not None else ()
    return quality_of(Measures(*measures)).value if measures else 0.0


def outcomes_of(name: str, site: StoredSite, orders: Sequence[str]) -> Iterator[Fetched]:
    """Yield what each order comes to on a site, and the best there is as `best`."""
    events = {number: site.event(number) for number in site.reachable()}
    known = {
        site.records[n].key: page_quality(event.features if event else None) for n, event in events.items()
    }
    budgets = [max(1, round(share * len(known))) for share in SHARES]
    for order in orders:
        scorer = ORDERS[order]()
        trace = crawl(site, CrawlPlan(site.entries, max(budgets)), scorer)
        scorer.close()
        found = [known.get(key, 0.0) for key in trace.order]
        yield Fetched(name, order, tuple(fmean(found[:n]) for n in budgets))
    best = sorted(known.values(), reverse=True)
    yield Fetched(name, "best", tuple(fmean(best[:n]) for n in budgets))


def table_of(outcomes: Sequence[Fetched]) -> Table:
    """Return the mean over all sites after each share, and each site after the last."""
    sites = list(dict.fromkeys(outcome.site for outcome in outcomes))
    table = Table("order", *(f"{share:.0%}" for share in SHARES), *sites)
    for order in dict.fromkeys(outcome.order for outcome in outcomes):
        own = [outcome.quality for outcome in outcomes if outcome.order == order]
        means = [fmean(column) for column in zip(*own, strict=True)]
        table.add_row(order, *(f"{value:.3f}" for value in [*means, *(quality[-1] for quality in own)]))
    return table


@click.command(help=__doc__)
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--site", "sites", multiple=True, required=True, help="Name of an archive.")
@click.option("--order", "orders", multiple=True, type=click.Choice(list(ORDERS)), default=list(ORDERS))
@json_file_option
def quality(
    folders: tuple[Path, ...], sites: tuple[str, ...], orders: tuple[str, ...], json_file: Path | None
) -> None:
    outcomes: list[Fetched] = []
    with figures_to(json_file) as file:
        for name in sites:
            found = source(name, folders)
            if found is None:
                raise click.UsageError(f"no archive of {name} with its labels")
            with prepare_site([found], workers=1, words=Words.COUNTED | Words.QUALITY) as site:
                outcomes += outcomes_of(name, site, orders)
        Console().print(table_of(outcomes))
        write_json(file, outcomes)


if __name__ == "__main__":
    sys.exit(quality())
