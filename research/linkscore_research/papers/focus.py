"""FoCUS (Jiang, Song, Yu and Lin 2013): effectiveness and coverage, tables 2 and 3, section 5.2.1."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any

from linkscore_lab.datasets.site import identity_or_none
from linkscore_lab.metrics import Kinds
from linkscore_lab.replay.in_process import InProcessScorer
from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.prepare import prepare_generated
from linkscore_lab.replay.results import RunResult
from linkscore_lab.replay.runs import NONE, Case, Experiment, MakeScorer, ReplayProtocol
from linkscore_lab.replay.scorer import CrawlSetup
from linkscore_lab.replay.task import USER_CONTENT, Task
from linkscore_lab.report.drawing import CurveChart
from linkscore_research.page_types.command import classified
from linkscore_research.page_types.examples import Example, find_sites, read_examples
from linkscore_research.page_types.generated import generated_examples
from linkscore_research.page_types.train import Rows, train
from linkscore_research.papers.crawlers import FirstInFirstOut, InOrderFound, obeys_hints, only_kinds
from linkscore_research.papers.forums import ENGINES, KINDS, GeneratedForum
from linkscore_research.papers.results import Cell, PaperTable
from linkscore_research.papers.sites import PaperOptions, stored_sites
from linkscore_research.papers.source import Tables
from linkscore_scoring.policies import capabilities
from linkscore_scoring.policies.focus.page_types import model_from

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
_WHOLE: dict[str, Any] = {
    "budget": "100%",
    "obey_verdicts": True,
    "obey_requests": True,
    "leave_site_out": True,
}
"""Protocol of a forum crawl: until nothing is left, page types by the model that never saw the site."""
_FOLLOWED = frozenset({"INDEX", "THREAD"})
FOLDERS = ("/forum", "/talk", "", "/community/en", "/smf")
"""Where generated forums are when their entry is looked for: below a keyword or not, or the whole host."""
N_STARTS = 10
"""Start pages that are no entry, drawn; the paper does not say how many it tried."""
_START_FETCHES = 150
"""Fetches after which a crawl from such a page is asked for the entry; a bound on time, chosen."""
_SEED = 1
"""Of draws of pages and of crawls: one draw, others were not tried."""
TRAINED_ON = (5, 10, 20, 40)
_TESTED = 40
"""Forums trained on, as in table 2, and made-up engines that are classified, others than those."""


def forums(
    options: PaperOptions, stored: Sequence[str] = STORED, bases: Sequence[str] = ("",) * len(ENGINES)
) -> Iterator[tuple[Experiment, str]]:
    """Yield stored forums and sites like them, then the generated ones, each with its robots.txt.

    Parameters
    ----------
    stored
        Names of the former.
    bases
        Folder that each of the latter is in.
    """
    for experiment, _ in stored_sites(options, stored, layout=True, **_WHOLE):
        yield experiment, ""
    for engine, base in zip(ENGINES, bases, strict=True):
        forum = GeneratedForum(engine, base=base)
        if options.names and forum.name not in options.names:
            continue
        with prepare_generated(forum, layout=True) as site:
            yield Experiment(site, ReplayProtocol(**_WHOLE), KINDS), forum.robots


def threads_of(experiment: Experiment) -> Task:
    """Return the task to find all threads of a forum."""
    kinds = Kinds.of(experiment.site.types, experiment.kinds)
    wanted = kinds.covered(experiment.facts)
    return Task(USER_CONTENT, dict.fromkeys(wanted, ""), {})


def crawled(experiment: Experiment, policy: str, make: MakeScorer, start: str = "") -> RunResult:
    """Return a crawl of a forum under a policy, by a scorer; only a policy's verdicts may change later."""
    case = Case(threads_of(experiment), NONE, read_policy(policy), _SEED, start)
    asks = policy == "focus"
    protocol = replace(experiment.protocol, obey_verdicts=asks, obey_requests=asks)
    return replace(experiment, make_scorer=make, protocol=protocol).run(case)


def effectiveness(options: PaperOptions) -> Tables:
    """Effectiveness in both readings, and coverage, of FoCUS and of what the paper compares it with."""
    rows: list[list[Cell]] = []
    for experiment, robots in forums(options):
        crawlers: dict[str, tuple[str, MakeScorer]] = {
            "focus": ("focus", InProcessScorer),
            "focus, breadth-first": ("focus", InOrderFound),
            "obeys_hints": ("breadth_first", partial(_obeying, robots)),
        }
        for name, (policy, make) in crawlers.items():
            run = crawled(experiment, policy, make)
            share, path, found = (run.metrics[key] for key in ("effectiveness", "path_share", "coverage"))
            rows.append([experiment.site.name, name, run.fetched, share, path, found])
    columns = ["site", "crawler", "fetched", "threads alone", "index, thread and flip pages", "coverage"]
    return [PaperTable(columns, rows)], []


def _obeying(robots: str, setup: CrawlSetup) -> FirstInFirstOut:
    return obeys_hints(robots)


def other_starts(options: PaperOptions) -> Tables:
    """Coverage from pages that are no entry: of a crawler that follows index and thread pages, and of focus.

    The former knows the kind of each page by its label, the entry page is none of them, as in section 5.2.1.
    """
    rows: list[list[Cell]] = []
    for experiment, _ in forums(options, SMALL):
        starts = ["", *draw_threads(experiment, 5)]
        found: dict[str, list[float]] = {"kinds": [], "focus": []}
        for start in starts:
            make = partial(_by_kind, experiment)
            generic = crawled(experiment, "breadth_first", make, start)
            found["kinds"].append(float(generic.metrics["coverage"] or 0.0))
        for start in starts[:3]:
            own = crawled(experiment, "focus", InProcessScorer, start)
            found["focus"].append(float(own.metrics["coverage"] or 0.0))
        row: list[Cell] = [experiment.site.name]
        for values in found.values():
            row += [values[0], fmean(values[1:]), min(values[1:])]
        rows.append(row)
    heads = [f"{who}, {start}" for who in ("by kind", "focus") for start in ("entry", "threads", "worst")]
    return [PaperTable(["site", *heads], rows)], []


def _by_kind(experiment: Experiment, setup: CrawlSetup) -> FirstInFirstOut:
    return only_kinds(experiment.kinds, _FOLLOWED)


def draw_threads(experiment: Experiment, n: int) -> list[str]:
    """Return `n` thread pages, drawn."""
    threads = sorted(threads_of(experiment).wanted)
    return random.Random(f"{experiment.site.name} {_SEED}").sample(threads, min(n, len(threads)))


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


class _Asked(InProcessScorer):
    """Asks for the best seed when the crawl ends."""

    def __init__(self, setup: CrawlSetup) -> None:
        super().__init__(setup)
        self.named = ""

    def close(self) -> None:
        """See `CrawlScorer.close`."""
        for name in list(self.model.sites):
            shard = self.model.shard(name)
            seeds = capabilities.suggest_seeds(shard.served, 1, shard.model)
            self.named = identity_or_none(seeds[0].url) or "" if seeds else ""


def _asked(asked: list[_Asked], setup: CrawlSetup) -> _Asked:
    asked.append(_Asked(setup))
    return asked[-1]


def table_3(options: PaperOptions) -> Tables:
    """How often the entry is found from a page drawn: by the heuristic of keywords, and by focus."""
    rows: list[list[Cell]] = []
    for experiment, _ in forums(options, SMALL, FOLDERS):
        entry, asked = experiment.site.entries[0], list[_Asked]()
        make = partial(_asked, asked)
        short = replace(experiment, protocol=replace(experiment.protocol, budget=str(_START_FETCHES)))
        starts = draw_pages(experiment, N_STARTS)
        for start in starts:
            crawled(short, "focus", make, start)
        every = [experiment.site.records[n].url for n in experiment.pages]
        by_keyword = fmean(identity_or_none(keyword_entry(url)) == entry for url in every)
        ours = fmean(one.named == entry for one in asked)
        rows.append([experiment.site.name, len(every), by_keyword, len(starts), ours])
    means: list[Cell] = ["mean", None, fmean(float(row[2] or 0) for row in rows), None]
    means.append(fmean(float(row[4] or 0) for row in rows))
    paper: list[Cell] = ["paper, 160 forums", 1600, 0.76, 1600, 0.99]
    columns = ["site", "pages", "entry by keywords", "pages drawn", "entry by focus"]
    return [PaperTable(columns, [*rows, means, paper])], []


def draw_pages(experiment: Experiment, n: int) -> list[str]:
    """Return `n` pages that are not the entry, drawn."""
    pages = [experiment.site.records[number].key for number in experiment.pages]
    others = [key for key in pages if key != experiment.site.entries[0]]
    return random.Random(f"{experiment.site.name} pages").sample(others, min(n, len(others)))


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
    rows: list[list[Cell]] = []
    for n in TRAINED_ON:
        chosen = set(engines[:n])
        model = model_from(train(Rows.of([example for example in made if _engine(example) in chosen])))
        tested = [example for example in made if _engine(example) not in set(engines[: max(TRAINED_ON)])]
        for name, examples in (("other made-up engines", tested), ("stored sites", stored)):
            figures = _scores(examples, classified(model, examples))
            rows.append([n, name, *figures])
    columns = ["forums trained on", "classified", "index precision", "index recall", "thread precision"]
    lines = {
        f"{kind}, {name}": [(float(row[0] or 0), float(row[at] or 0)) for row in rows if row[1] == name]
        for name in ("other made-up engines", "stored sites")
        for kind, at in (("index recall", 3), ("thread recall", 5))
    }
    chart = CurveChart("Recall by forums trained on", "forums trained on", "recall", lines)
    return [PaperTable([*columns, "thread recall"], rows)], [chart]


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
