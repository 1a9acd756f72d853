"""FoCUS (Jiang, Song, Yu and Lin 2013): effectiveness and coverage, tables 2 and 3, section 5.2.1."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any

import msgspec
from protego import Protego

from linkscore_lab.datasets.site import identity_or_none
from linkscore_lab.replay.crawl import crawl
from linkscore_lab.replay.in_process import CrawlScorer, InProcessScorer, PageScores, ReplayVisit, best_first
from linkscore_lab.replay.prepare import StoredSite, prepare_generated
from linkscore_lab.replay.results import RunResult
from linkscore_lab.replay.runs import (
    NONE,
    USER_CONTENT,
    Case,
    MakeScorer,
    ReplayProtocol,
    Task,
    read_policy,
)
from linkscore_lab.report import CurveChart
from linkscore_research.page_types.command import classified
from linkscore_research.page_types.examples import Example, find_sites, read_examples
from linkscore_research.page_types.generated import generated_examples
from linkscore_research.page_types.train import Rows, train
from linkscore_research.papers.forums import ENGINES, KINDS, GeneratedForum
from linkscore_research.papers.obedient import obedient, seeded
from linkscore_research.papers.results import Cell, PaperTable, Point
from linkscore_research.papers.sites import ForumExperiment, PaperOptions, stored_sites
from linkscore_research.papers.source import SEEDS, Draws, Tables, means, spread
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.features.types import Links
from linkscore_scoring.limits.respect import NOFOLLOW, said_by_head
from linkscore_scoring.policies.focus.policy import PageTypeModel, variants

STORED = (
    "forum_phpbb",
    "forum_opendcl",
    "forum_xf_pkodev",
    "forum_ips_gopiratia",
    "qa_q2a",
    "blog_wordpress",
)
SMALL = ("qa_q2a", "blog_wordpress")
"""Those that start pages are tried on: large forums take long, and the small ones are no whole."""
_WHOLE: dict[str, Any] = {"budget": "100%"}
"""Protocol of a forum crawl: until nothing is left."""
_FOLLOWED = frozenset({"INDEX", "THREAD"})
FOLDERS = ("/forum", "/talk", "", "/community/en", "/smf")
"""Where generated forums are when their entry is looked for: below a keyword or not, or the whole host."""
N_STARTS = 10
"""Start pages that are no entry, of a draw; the paper does not say how many it tried."""
N_THREAD_STARTS, N_FOCUS_STARTS = 5, 2
"""Threads of a draw that crawls start at, and those of them that focus starts at: it takes long."""
_START_FETCHES = 150
"""Fetches after which a crawl from such a page is asked for the entry; a bound on time, chosen."""
TRAINED_ON = (5, 10, 20, 40)
_TESTED = 40
"""Forums trained on, as in table 2, and made-up engines that are classified, others than those."""


Refuses = Callable[[StoredSite, Links, int], bool]
"""Says of the link in a row of a page whether a crawler leaves it."""

_QUEUE = "queue"


class FirstInFirstOut(CrawlScorer):
    """A crawler that follows links in the order it finds them, but for those it refuses."""

    def __init__(self, refuses: Refuses) -> None:
        self._refuses = refuses

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        event = site.event(visit.number)
        links = event.features.links if event and event.features else Links()
        all_refused = NOFOLLOW in said_by_head(site.body(visit.number), "")
        skip = [all_refused or self._refuses(site, links, row) for row in range(len(links))]
        return PageScores(links.keys, [0.0] * len(links), [_QUEUE], [0] * len(links), skip=skip)


def obeys_hints(robots: str = "") -> FirstInFirstOut:
    """Return the generic crawler of section 5.2.1: breadth-first, and it obeys nofollow and robots.txt."""
    rules = Protego.parse(robots)

    def refuses(site: StoredSite, links: Links, row: int) -> bool:
        return "nofollow" in links.rels[row].split() or not rules.can_fetch(links.urls[row], "*")

    return FirstInFirstOut(refuses)


def only_kinds(kinds: Mapping[str, str], wanted: frozenset[str]) -> FirstInFirstOut:
    """Return a crawler that follows links to pages of some kinds alone, which it knows beforehand."""

    def refuses(site: StoredSite, links: Links, row: int) -> bool:
        number = site.number(links.keys[row])
        return number < 0 or kinds.get(site.types.get(site.records[number].key, "")) not in wanted

    return FirstInFirstOut(refuses)


class InOrderFound(InProcessScorer):
    """What a policy does not skip, breadth-first: the online crawl of the FoCUS paper (section 4.4)."""

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        answer = super().visit(site, visit)
        return replace(answer, bucket_names=[_QUEUE], buckets=[0] * len(answer.keys))

    def plan(
        self, buckets: Sequence[str], waiting: Sequence[int], in_flight: Mapping[str, int], n: int
    ) -> tuple[Sequence[float], Sequence[int]]:
        """See `CrawlScorer.plan`: there is one queue."""
        return best_first([0.0] * len(buckets), waiting, n)


def forums(
    options: PaperOptions,
    stored: Sequence[str],
    bases: Sequence[str] = ("",) * len(ENGINES),
    stored_seeds: Sequence[int] = SEEDS,
) -> Iterator[tuple[ForumExperiment, str, int]]:
    """Yield stored forums and sites like them, then the generated ones: robots.txt and seed of each draw.

    A generated forum is another one in each draw, a stored site always the same.
    """
    for experiment, _ in stored_sites(options, stored, layout=True, **_WHOLE):
        for seed in stored_seeds:
            yield experiment, "", seed
    for (engine, base), seed in product(zip(ENGINES, bases, strict=True), SEEDS):
        forum = GeneratedForum(engine, seed, base)
        if options.names and forum.name not in options.names:
            continue
        with prepare_generated(forum, layout=True) as site:
            yield ForumExperiment(site, ReplayProtocol(**_WHOLE), kinds=KINDS), forum.robots, seed


def coverage(run: RunResult) -> float:
    """Return the share of the threads that a crawl found."""
    return float(run.metrics["coverage"] or 0.0)


def threads_of(experiment: ForumExperiment) -> Task:
    """Return the task to find all threads of a forum."""
    return Task(USER_CONTENT, dict.fromkeys(experiment.threads(), ""), {})


def crawled(
    experiment: ForumExperiment, policy: str, make: MakeScorer, start: str = "", seed: int = 1
) -> RunResult:
    """Return a crawl of a forum under a policy, by a scorer; only a policy's verdicts may change later.

    Page types are by the model that never saw the site, of a site it was not trained with by the whole one.
    """
    name, is_focus = experiment.site.name, policy == "focus"
    without = f"focus:page_types={name}" if is_focus and name in variants() else policy
    case = Case(threads_of(experiment), NONE, read_policy(without), seed, start)
    carry_out = (seeded if start else obedient) if is_focus else crawl  # a stranger's page: ask for seeds too
    return replace(experiment, make_scorer=make, carry_out=carry_out).run(case)


def effectiveness(options: PaperOptions) -> Tables:
    """Effectiveness in both readings, and coverage, of FoCUS and of what the paper compares it with."""
    found: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    for experiment, robots, seed in forums(options, STORED, stored_seeds=SEEDS[:1]):
        crawlers: dict[str, tuple[str, MakeScorer]] = {
            "focus": ("focus", InProcessScorer),
            "focus, breadth-first": ("focus", InOrderFound),
            "obeys_hints": ("breadth_first", partial(_obeying, robots)),
        }
        for name, (policy, make) in crawlers.items():
            run = crawled(experiment, policy, make, seed=seed)
            figures = [float(run.metrics[key] or 0.0) for key in ("effectiveness", "path_share", "coverage")]
            found[experiment.site.name, name].append([run.fetched, *figures])
    rows: list[list[Cell]] = []
    for (site, name), draws in found.items():
        fetched, *shares = means(draws)
        rows.append([site, name, round(fetched), *shares, spread([draw[1] for draw in draws])])
    columns = ["site", "crawler", "fetched", "threads alone", "index, thread and flip pages", "coverage"]
    return [PaperTable([*columns, "threads alone, draws"], rows)], []


def _obeying(robots: str, setup: CrawlConfig) -> FirstInFirstOut:
    return obeys_hints(robots)


def other_starts(options: PaperOptions) -> Tables:
    """Coverage from pages that are no entry: of a crawler that follows index and thread pages, and of focus.

    The former knows the kind of each page by its label, the entry page is none of them, as in section 5.2.1.
    """
    found: dict[str, list[list[list[float]]]] = defaultdict(list)
    for experiment, _, seed in forums(options, SMALL):
        starts = ["", *draw_threads(experiment, N_THREAD_STARTS, seed)]
        crawls = (
            ("breadth_first", partial(_by_kind, experiment), starts),
            ("focus", InProcessScorer, starts[: 1 + N_FOCUS_STARTS]),
        )
        found[experiment.site.name].append(
            [
                [coverage(crawled(experiment, policy, make, start, seed)) for start in some]
                for policy, make, some in crawls
            ]
        )
    rows: list[list[Cell]] = []
    for site, draws in found.items():
        row: list[Cell] = [site]
        for of_draws in zip(*draws, strict=True):
            threads = [fmean(values[1:]) for values in of_draws]
            row += [fmean(values[0] for values in of_draws), fmean(threads), spread(threads)]
            row.append(min(min(values[1:]) for values in of_draws))
        rows.append(row)
    kinds = ("entry", "threads", "threads, draws", "worst")
    heads = [f"{who}, {start}" for who in ("by kind", "focus") for start in kinds]
    return [PaperTable(["site", *heads], rows)], []


def _by_kind(experiment: ForumExperiment, setup: CrawlConfig) -> FirstInFirstOut:
    return only_kinds(experiment.kinds, _FOLLOWED)


def draw_threads(experiment: ForumExperiment, n: int, seed: int) -> list[str]:
    """Return `n` thread pages, drawn."""
    threads = sorted(threads_of(experiment).wanted)
    return random.Random(f"{experiment.site.name} {seed}").sample(threads, min(n, len(threads)))


_KEYWORD = re.compile(r"(?i)^(https?://[^/]+/(?:[^?#]*/)?(?:forum|board|community|bbs|discuss)/)")


def keyword_entry(url: str) -> str:
    """Return the entry by the paper's heuristic: up to a keyword that ends in ``/``, else the host.

    >>> keyword_entry("http://h.example/en/forum/viewtopic.php?t=1")
    'http://h.example/en/forum/'
    >>> keyword_entry("http://h.example/threads/a.1/")
    'http://h.example/'
    """
    found = _KEYWORD.match(url)
    return found.group(1) if found else "/".join(url.split("/")[:3]) + "/"


def _asked(asked: list[InProcessScorer], setup: CrawlConfig) -> InProcessScorer:
    asked.append(InProcessScorer(setup))
    return asked[-1]


def _best_seed(scorer: InProcessScorer) -> str:
    """Return the identity of the page that a crawl would start from, empty if it knows none."""
    shards = [scorer.model.shard(name) for name in scorer.model.sites]
    seeds = [seed.url for shard in shards for seed in shard.served.suggest_seeds(1, shard.model)]
    return identity_or_none(seeds[-1]) or "" if seeds else ""


def table_3(options: PaperOptions) -> Tables:
    """How often the entry is found from a page drawn: by the heuristic of keywords, and by focus."""
    found: dict[str, list[list[float]]] = defaultdict(list)
    for experiment, _, seed in forums(options, SMALL, FOLDERS):
        entry, asked = experiment.site.entries[0], list[InProcessScorer]()
        make = partial(_asked, asked)
        short = replace(experiment, protocol=replace(experiment.protocol, budget=str(_START_FETCHES)))
        for start in draw_pages(experiment, N_STARTS, seed):
            crawled(short, "focus", make, start, seed)
        every = [experiment.site.records[n].url for n in experiment.pages]
        by_keyword = fmean(identity_or_none(keyword_entry(url)) == entry for url in every)
        ours = fmean(_best_seed(one) == entry for one in asked)
        found[experiment.site.name].append([len(every), by_keyword, len(asked), ours])
    rows = [_entries_found(site, draws) for site, draws in found.items()]
    overall = [means(draws) for draws in zip(*found.values(), strict=True)]
    mean: list[Cell] = ["mean", None, *_entries_found("", overall)[2:]]
    mean[3] = None
    paper: list[Cell] = ["paper, 160 forums", 1600, 0.76, 1600, 0.99, None]
    columns = ["site", "pages", "entry by keywords", "pages drawn", "entry by focus", "by focus, draws"]
    return [PaperTable(columns, [*rows, mean, paper])], []


def _entries_found(site: str, draws: Draws) -> list[Cell]:
    """Return a row: pages, share found by keywords, pages drawn in all, share found by focus, its draws."""
    pages, by_keyword, drawn, ours = means(draws)
    return [site, round(pages), by_keyword, round(drawn * len(draws)), ours, spread([d[3] for d in draws])]


def draw_pages(experiment: ForumExperiment, n: int, seed: int) -> list[str]:
    """Return `n` pages that are not the entry, drawn."""
    pages = [experiment.site.records[number].key for number in experiment.pages]
    others = [key for key in pages if key != experiment.site.entries[0]]
    return random.Random(f"{experiment.site.name} pages {seed}").sample(others, min(n, len(others)))


def table_2(options: PaperOptions) -> Tables:
    """Precision and recall of index and thread pages by the number of made-up forums trained on."""
    made = generated_examples(max(TRAINED_ON) + _TESTED)
    engines = list(dict.fromkeys(_engine(example) for example in made))
    stored = [
        example
        for site in find_sites(options.corpora)
        if site.name in STORED
        for example in read_examples(site, per_type=100)
    ]
    found: dict[tuple[int, str], list[list[float]]] = defaultdict(list)
    for seed, n in product(SEEDS, TRAINED_ON):
        order = random.Random(seed).sample(engines, len(engines))
        chosen, others = set(order[:n]), set(order[max(TRAINED_ON) :])
        model = msgspec.convert(
            train(Rows.of([example for example in made if _engine(example) in chosen])), PageTypeModel
        )
        tested = {
            "other made-up engines": [example for example in made if _engine(example) in others],
            "stored sites": stored,
        }
        for name, examples in tested.items():
            found[n, name].append(_scores(examples, classified(model, examples)))
    columns = ["index precision", "index recall", "thread precision", "thread recall"]
    rows: list[list[Cell]] = []
    lines: dict[str, list[Point]] = defaultdict(list)
    for (n, name), draws in found.items():
        figures = means(draws)
        rows.append([n, name, *figures])
        rows.append([n, f"{name}, draws", *map(spread, zip(*draws, strict=True))])
        for column in ("index recall", "thread recall"):
            lines[f"{column}, {name}"].append((n, figures[columns.index(column)]))
    chart = CurveChart("Recall by forums trained on", "forums trained on", "recall", dict(lines))
    return [PaperTable(["forums trained on", "classified", *columns], rows)], [chart]


def _engine(example: Example) -> str:
    return example.url.split("/")[2]


def _scores(examples: Sequence[Example], found: Sequence[str]) -> list[float]:
    """Return precision and recall of index and of thread pages, each page once."""
    figures = []
    for kind in ("INDEX", "THREAD"):
        said = [e.kind == kind for e, k in zip(examples, found, strict=True) if k == kind]
        there = [k == kind for e, k in zip(examples, found, strict=True) if e.kind == kind]
        figures += [fmean(said) if said else 0.0, fmean(there) if there else 0.0]
    return figures
