"""Anthelion (Meusel, Mika and Blanco 2014): one crawl of many hosts, few of which have the wanted markup."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from linkscore_lab.datasets.site import Reply, Site, identity
from linkscore_lab.replay.prepare import prepare_generated
from linkscore_lab.replay.runs import FEEDBACK, Case, Experiment, ReplayProtocol, read_policy
from linkscore_lab.report import CurveChart
from linkscore_research.papers.results import Cell, PaperTable, thinned
from linkscore_research.papers.simulator_files import OTHER, WANTED, SimulatorSite
from linkscore_research.papers.sites import PaperOptions, target
from linkscore_research.papers.source import Tables
from linkscore_scoring.errors import InvalidInput

_HTML = {"Content-Type": "text/html; charset=utf-8"}
HOSTS, SHARES = 200, (0.2, 0.05)
"""Hosts, and shares of them that have markup: the second is a rare target."""
ITEMS, PER_LIST = (10, 40), 10
"""Items of a host, drawn; and items of a list page. Chosen: some 7,000 pages are minutes of replay."""
BUDGET, EVERY = 1_000, 5
"""Fetches of a crawl, a seventh of the pages, and fetches between two questions for the order."""
DRAWS = (1, 2, 3, 4, 5)
"""Draws of the hosts: what is found in one differs by a factor of two from another."""
_SHOPS = ("product", "recipe", "event", "review", "job")
_OTHERS = ("article", "page", "story", "post", "about", "docs")
"""Words of the paths of items: the former are more frequent where there is markup, and the reverse."""
CRAWLERS = {
    "breadth-first": "breadth_first",
    "classifier alone": "anthelion:value_function=best_score,hub_weight=0.0",
    "bandit and classifier": "anthelion:hub_weight=0.0",
    "the same, lambda .1 that decays": "anthelion:hub_weight=0.0,explore_prob=0.1,decay_pulls=100",
    "default, hubs too": "anthelion",
}
_COLUMNS = (
    "crawler",
    "found in 100",
    "in 500",
    "in 1,000",
    "draws",
    "x breadth-first",
    "x classifier alone",
)


class ManyHosts:
    """Hosts that link each other; the first page is a directory of all, as the paper starts from one.

    A host has a front page, lists and items. Each uses one word in the paths of its items. Where there is
    markup it is on most items, as sites decide that by template; a few hosts have it here and there.
    """

    def __init__(self, share: float, seed: int = 1) -> None:
        self.name = f"{HOSTS} generated hosts, {share:.0%} with markup"
        self.entry = "http://directory.test/"
        self._rng = random.Random(f"hosts {share} {seed}")
        self._share = share
        self._pages: dict[str, tuple[str, str]] = {}
        for url, kind, links in self._all():
            body = "".join(f'<li><a href="{to}">{to.rsplit("/", 1)[-1] or to}</a></li>' for to in links)
            html = f"<!DOCTYPE html><html><title>{url}</title><body><ul>{body}</ul><p>{url}</p></body></html>"
            self._pages[identity(url)] = (kind, html)

    @property
    def wanted_types(self) -> frozenset[str]:
        """Pages with markup."""
        return frozenset({WANTED})

    def respond(self, url: str) -> Reply:
        """Return the page of a URL."""
        found = self._pages.get(identity(url))
        return Reply(200, _HTML, found[1].encode()) if found else Reply(404, _HTML, b"")

    def labels(self) -> dict[str, str]:
        """Return the type of every page, by identity."""
        return {key: kind for key, (kind, _) in self._pages.items()}

    def _all(self) -> Iterator[tuple[str, str, list[str]]]:
        homes = [f"http://h{n}.test/" for n in range(HOSTS)]
        yield self.entry, OTHER, self._rng.sample(homes, HOSTS)
        for home in homes:
            yield from self._host(home, homes)

    def _host(self, home: str, homes: list[str]) -> Iterator[tuple[str, str, list[str]]]:
        rng = self._rng
        has = rng.random() < self._share
        with_markup = rng.uniform(0.7, 1.0) if has else rng.choice((0.0, 0.0, 0.0, 0.05))
        word = rng.choice(_SHOPS if rng.random() < (0.7 if has else 0.2) else _OTHERS)
        items = [f"{home}{word}/{rng.randint(100, 9_999)}-{n}" for n in range(rng.randint(*ITEMS))]
        lists = [f"{home}list?page={n + 1}" for n in range(-(-len(items) // PER_LIST))]
        yield home, OTHER, [*lists[:1], *(f"{home}{name}" for name in ("contact", "terms"))]
        for name in ("contact", "terms"):
            yield f"{home}{name}", OTHER, [home]
        for n, url in enumerate(lists):
            yield url, OTHER, [home, *items[n * PER_LIST : (n + 1) * PER_LIST], *lists[n + 1 : n + 2]]
        for url in items:
            kind = WANTED if rng.random() < with_markup else OTHER
            yield url, kind, [home, *rng.sample(items, 2), *rng.sample(homes, 2)]


def many_hosts(options: PaperOptions) -> Tables:
    """Relevant pages found in one crawl of 200 hosts, labels reported after each fetch; means of draws."""
    rows: list[list[Cell]] = []
    charts = []
    for share in SHARES:
        found, chart = _reported([_curves(ManyHosts(share, seed)) for seed in DRAWS], ManyHosts(share).name)
        rows += [[f"{share:.0%}", *row] for row in found]
        charts.append(chart)
    paper: list[Cell] = ["paper, 5 million pages", "bandit and classifier", None, None, None, None, 3.0, 1.26]
    return [PaperTable(["hosts with markup", *_COLUMNS], [*rows, paper])], charts


def published_files(options: PaperOptions) -> Tables:
    """The same on a crawl in the published form, for whoever has one."""
    if options.folder is None:
        raise InvalidInput("needs a folder with index, network and label", field="folder")
    site = SimulatorSite(options.folder)
    rows, chart = _reported([_curves(site)], site.name)
    return [PaperTable(_COLUMNS, rows)], [chart]


def _curves(generated: Site) -> dict[str, list[int]]:
    """Return the relevant pages that each crawler has found after each fetch."""
    with prepare_generated(generated) as site:
        experiment = Experiment(site, ReplayProtocol(budget=str(BUDGET), every=EVERY))
        task = target(experiment, WANTED, as_share=True)
        return {
            name: list(experiment.run(Case(task, FEEDBACK, read_policy(policy), 1)).curve)
            for name, policy in CRAWLERS.items()
        }


def _reported(
    draws: Sequence[Mapping[str, Sequence[int]]], title: str
) -> tuple[list[list[Cell]], CurveChart]:
    """Return a row for each crawler, and their curves: means of the draws."""
    means = {name: _mean_curve([draw[name] for draw in draws]) for name in CRAWLERS}
    base, alone = means["breadth-first"][-1], means["classifier alone"][-1]
    rows: list[list[Cell]] = []
    for name, curve in means.items():
        parts = [round(curve[min(BUDGET * part // 10, len(curve)) - 1]) for part in (1, 5, 10)]
        ends = [draw[name][-1] for draw in draws]
        times = [curve[-1] / least if least else None for least in (base, alone)]
        rows.append([name, *parts, f"{min(ends)} to {max(ends)}", *times])
    lines = {name: thinned([good / (n + 1) for n, good in enumerate(curve)]) for name, curve in means.items()}
    return rows, CurveChart(title, "pages fetched", "share with markup", lines)


def _mean_curve(curves: Sequence[Sequence[int]]) -> list[float]:
    """Return the mean of curves; one that ends early stays at its end."""
    length = max(map(len, curves))
    return [fmean(curve[min(n, len(curve) - 1)] for curve in curves) for n in range(length)]
