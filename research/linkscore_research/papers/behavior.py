"""Browsing behaviour (Liu, Cai, Zhang and Zhang 2011): figure 6, transits by pairs, and real navigation."""

from __future__ import annotations

import gzip
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from linkscore_lab.datasets.site import identity_or_none
from linkscore_research.behavior.orders import (
    Mirror,
    PolicyOrder,
    breadth_first,
    by_pagerank,
    by_worth,
    discovery_share,
    fetch_share,
    greedy_order,
    read_mirror,
)
from linkscore_research.behavior.patterns import paper_orders, pattern_figures
from linkscore_research.page_types.examples import find_sites
from linkscore_research.papers.results import Cell, PaperTable
from linkscore_research.papers.sites import PaperOptions
from linkscore_research.papers.source import Tables
from linkscore_scoring.browse_logs.counts import OUTSIDE, BrowseCounts
from linkscore_scoring.browse_logs.mining import mine_site
from linkscore_scoring.columns import Ints
from linkscore_scoring.errors import InvalidInput

_DAY_S = 86_400
"""Seconds of a day."""
MAX_PAGES_A_DAY = 500
"""Pages of a client on a day above which it is left out as a program; as in the import of logs."""
SIMULATED, MINED_DAYS, HORIZONS = "blog_wordpress", 30, ((0, 10), (10, 20), (20, 30))
"""The simulated log, the days mined of its 60, and the days after them that are judged apart."""
WIKI = "http://wikispeedia.test/wiki/"
"""Stands before the names of articles, which have no URLs in the data."""
WIKI_MINED, WIKI_HORIZONS = 480, ((0, 30), (30, 120), (120, 480))
"""Days mined of about a thousand, and days after them that are judged apart; chosen before measuring."""


_KNOWN = "none: the URLs of the log themselves"


class Click(NamedTuple):
    """One request: day since 1970, who, and identities of the page and of that before it, empty for none."""

    day: int
    client: str
    url: str
    referrer: str


@dataclass(frozen=True, slots=True)
class Horizon:
    """Days judged: what they are called, and the visits of each page of the mirror."""

    name: str
    counts: BrowseCounts


def counted(clicks: Sequence[Click], first_day: int, n_days: int, *, pairs: bool = False) -> BrowseCounts:
    """Return the counts of a window of days."""
    window = [click for click in clicks if first_day <= click.day < first_day + n_days]
    busy = Counter((click.client, click.day) for click in window)
    window = [click for click in window if busy[click.client, click.day] <= MAX_PAGES_A_DAY]
    first: dict[tuple[str, str, int], str] = {}
    every: dict[tuple[str, str, str], None] = {}
    for click in window:
        first.setdefault((click.client, click.url, click.day), click.referrer)
        every[click.client, click.url, click.referrer] = None
    if pairs:
        went = Counter((referrer, url) for _, url, referrer in every)
    else:
        went = Counter((referrer, url) for (_, url, _), referrer in first.items())
    came = Counter((url, day - first_day) for _, url, day in first)
    urls = sorted({url for url, _ in came} | {page for pair in went for page in pair if page})
    row = {url: n for n, url in enumerate(urls)}
    clicked = _columns((row[url], day, n) for (url, day), n in sorted(came.items()))
    moved = _columns((row.get(page, OUTSIDE), row[url], n) for (page, url), n in sorted(went.items()))
    return BrowseCounts(first_day, n_days, urls, *clicked, *moved)


def _columns(rows: Iterable[tuple[int, int, int]]) -> tuple[Ints, Ints, Ints]:
    table = np.array(list(rows), dtype=np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def read_clicks(path: Path, host: str) -> list[Click]:
    """Return the requests of a log of time, client, URL and referrer (``-`` for none) to one host."""
    found = []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            time, client, url, referrer = line.rstrip("\n").split("\t")[:4]
            if not _of(url, host):
                continue
            origin = (identity_or_none(referrer) or "") if _of(referrer, host) else ""
            when = datetime.fromisoformat(time)
            found.append((when.timestamp(), client, identity_or_none(url) or url, origin))
    return [Click(int(at // _DAY_S), *rest) for at, *rest in sorted(found)]


def _of(url: str, host: str) -> bool:
    return url.split("/", 3)[2:3] == [host]


def figure_6(options: PaperOptions) -> Tables:
    """How long patterns last, and what transits counted by pairs change; on a simulated log."""
    site = next((site for site in find_sites(options.corpora) if site.name == SIMULATED), None)
    log = options.folder / f"{SIMULATED}.log.tsv.gz" if options.folder else Path()
    if site is None or not log.is_file():
        raise InvalidInput(f"needs --corpora with {SIMULATED} and --folder with its log", field="folder")
    mirror = read_mirror([site.archive], workers=1)
    clicks = read_clicks(log, mirror.keys[0].split("/")[2])
    start = clicks[0].day
    horizons = [
        Horizon(f"days {a + 1} to {b} after", counted(clicks, start + MINED_DAYS + a, b - a))
        for a, b in HORIZONS
    ]
    return _reported(clicks, start, MINED_DAYS, mirror, horizons)


def wikispeedia(options: PaperOptions) -> Tables:
    """Real people: how they went from article to article in the game Wikispeedia."""
    if options.folder is None or not (options.folder / "links.tsv").is_file():
        raise InvalidInput("needs links.tsv and paths_unfinished.tsv of Wikispeedia", field="folder")
    mirror = wiki_mirror(_rows(options.folder / "links.tsv"))
    files = [options.folder / f"paths_{end}.tsv" for end in ("unfinished", "finished")]
    clicks = sorted(click for path in files if path.is_file() for click in path_clicks(_rows(path)))
    start = _steady_start(clicks)
    horizons = [
        Horizon(f"days {a + 1} to {b} after", counted(clicks, start + WIKI_MINED + a, b - a))
        for a, b in WIKI_HORIZONS
    ]
    return _reported(clicks, start, WIKI_MINED, mirror, horizons)


def _rows(path: Path) -> list[list[str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def wiki_mirror(links: Iterable[Sequence[str]]) -> Mirror:
    """Return the articles that can be reached from the one with most links, breadth-first."""
    targets: dict[str, list[str]] = defaultdict(list)
    for source, target in links:
        targets[source].append(target)
    entry = max(sorted(targets), key=lambda name: len(targets[name]))
    order, waiting = {entry: 0}, deque([entry])
    while waiting:
        for target in targets[waiting.popleft()]:
            if target not in order:
                order[target] = len(order)
                waiting.append(target)
    rows = [np.array([order[to] for to in targets[name] if to != name], dtype=np.int64) for name in order]
    keys = [identity_or_none(WIKI + name) or "" for name in order]
    return Mirror("wikispeedia", keys, rows)


def path_clicks(paths: Iterable[Sequence[str]]) -> Iterator[Click]:
    """Yield the links that people followed; the game draws where they begin, and going back is no request."""
    for client, time, _, path, *_ in paths:
        trail: list[str] = []
        for name in path.split(";"):
            if name == "<":
                del trail[max(1, len(trail) - 1) :]
            else:
                url = identity_or_none(WIKI + name) or ""
                if trail:
                    yield Click(int(time) // _DAY_S, client, url, trail[-1])
                trail.append(url)


def _steady_start(clicks: Sequence[Click]) -> int:
    """Return the day by which a twentieth of the clicks is over: before it the game was hardly known."""
    return clicks[len(clicks) // 20].day


def _reported(
    clicks: Sequence[Click], start: int, n_days: int, mirror: Mirror, horizons: Sequence[Horizon]
) -> Tables:
    mined = {
        "first referrer": counted(clicks, start, n_days),
        "pairs": counted(clicks, start, n_days, pairs=True),
    }
    heads = [horizon.name for horizon in horizons]
    visits = {horizon.name: mirror.visits(horizon.counts) for horizon in horizons}
    judged = [int(found.sum()) for found in visits.values()]
    fetch: list[list[Cell]] = [["visits judged", "", *judged]]
    discovery: list[list[Cell]] = [["visits judged", "", *judged]]
    for how, counts in mined.items():
        ours, (by_graph, by_hub) = mine_site(counts), paper_orders(counts, mirror)
        for name, pages in (
            ("behavior_fetch", list(PolicyOrder("behavior_fetch", ours).fetches(mirror))),
            ("its graph, split as the paper", by_graph),
        ):
            fetch.append([name, how, *(fetch_share(pages, found) for found in visits.values())])
        for name, pages in (
            ("behavior_discovery", list(PolicyOrder("behavior_discovery", ours).visits(mirror))),
            ("its hubs, split as the paper", by_hub),
        ):
            shares = (discovery_share(pages, mirror.links, found) for found in visits.values())
            discovery.append([name, how, *shares])
    known = mirror.visits(mined["first referrer"])
    simple = {
        "visits in the log, page by page": list(by_worth(known)),
        "breadth-first": list(breadth_first(mirror)),
        "PageRank": list(by_pagerank(mirror)),
    }
    for name, pages in simple.items():
        fetch.append([name, "", *(fetch_share(pages, found) for found in visits.values())])
        shares = (discovery_share(pages, mirror.links, found) for found in visits.values())
        discovery.append([name, "", *shares])
    fetch.append(["oracle", "", *(fetch_share(by_worth(found), found) for found in visits.values())])
    oracle = (discovery_share(greedy_order(mirror.links, f), mirror.links, f) for f in visits.values())
    discovery.append(["oracle, greedy", "", *oracle])
    return [
        PaperTable(
            ["order", "transits", *heads], fetch, "Share of the pages to fetch for 80 % of the visits"
        ),
        PaperTable(["order", "transits", *heads], discovery, "Share of the pages to visit to discover 80 %"),
        _patterns(mined["first referrer"], horizons),
    ], []


def _patterns(counts: BrowseCounts, horizons: Sequence[Horizon]) -> PaperTable:
    """Return figure 6: pages and visits of later days that fit a pattern, and that the log has itself."""
    rows: dict[str, list[Cell]] = {}
    for horizon in horizons:
        found = list(pattern_figures(counts, horizon.counts))
        for tree in found:
            row = rows.setdefault(tree.tree, [tree.tree, tree.leaves])
            row += [tree.later_urls, tree.later_visits]
        row = rows.setdefault(_KNOWN, [_KNOWN, None])
        row += [found[0].known_urls, found[0].known_visits]
    heads = [f"{what}, {horizon.name}" for horizon in horizons for what in ("pages", "visits")]
    return PaperTable(["patterns", "how many", *heads], list(rows.values()), "What still fits later")
