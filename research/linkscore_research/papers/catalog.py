"""Every table and figure that can be measured, by its name on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linkscore_lab.report import CurveChart
from linkscore_research.papers import anthelion, behavior, focus, news, source
from linkscore_research.papers.results import PaperTable
from linkscore_research.papers.sites import PaperOptions

Measure = Callable[[PaperOptions], tuple[list[PaperTable], list[CurveChart]]]

SOURCE = "SOUrCe (Xu, Gao and Callan 2018)"
FOCUS = "FoCUS (Jiang, Song, Yu and Lin 2013)"
_SMALLER = "a stored Q&A site and a blog, and generated forums of five engines"
NEWS = "News discovery (Wang, Liu, Zhang and Ma 2008)"
BEHAVIOR = "Browsing behaviour (Liu, Cai, Zhang and Zhang 2011)"
ANTHELION = "Anthelion (Meusel, Mika and Blanco 2014)"
_FORUMS = "four stored forums, a Q&A site and a blog, as stored, and generated forums of five engines"
_FOUR_SITES = "four stored sites: a forum, a Q&A site, a wiki, a blog"


@dataclass(frozen=True, slots=True)
class Entry:
    """One table or figure."""

    paper: str  # The paper it is of
    title: str  # What it shows
    data: str  # What it is measured on here, for who reads the table
    measure: Measure  # Does it


CATALOG: dict[str, Entry] = {
    "source-table-3": Entry(
        SOURCE,
        "Table 3: crawling for user content",
        f"{_FOUR_SITES}, 25 % of the reachable pages, means of three draws",
        source.table_3,
    ),
    "source-table-4": Entry(
        SOURCE,
        "Table 4: crawling for a target",
        f"{_FOUR_SITES}, six targets, means of three draws of the example",
        source.table_4,
    ),
    "source-table-5": Entry(
        SOURCE,
        "Table 5: what each factor is worth",
        f"{_FOUR_SITES}, 25 % of the reachable pages, means of three draws",
        source.table_5,
    ),
    "source-figures-6-7": Entry(
        SOURCE,
        "Figures 6 and 7: growing crawls",
        "a stored blog and a forum, each crawled to its end, means of three draws",
        source.figures_6_7,
    ),
    "source-figure-8": Entry(
        SOURCE,
        "Figure 8: pages learned from, and how they are sampled",
        "a stored blog and a forum, a target each, means of three draws; the pages learned from, at most a "
        "quarter of the site, are not counted, as in the paper",
        source.figure_8,
    ),
    "focus-effectiveness": Entry(
        FOCUS,
        "Effectiveness and coverage, in both readings (section 5.2.1, figures 12 to 14)",
        f"{_FORUMS}, three draws of each of these, crawled until nothing is left to follow",
        focus.effectiveness,
    ),
    "focus-table-2": Entry(
        FOCUS,
        "Table 2: forums trained on",
        "made-up engines, three draws of those trained on; classified are 40 others of each draw, and pages "
        "of the stored sites",
        focus.table_2,
    ),
    "focus-table-3": Entry(
        FOCUS,
        "Table 3: finding the entry",
        f"{_SMALLER}; keywords on every page, focus from three draws of ten pages, 150 fetches each",
        focus.table_3,
    ),
    "focus-other-starts": Entry(
        FOCUS,
        "Section 5.2.1: starts that are no entry",
        f"{_SMALLER}; three draws of five threads as starts, two of them for focus",
        focus.other_starts,
    ),
    "news-figure-2": Entry(
        NEWS,
        "Figure 2: click-through concentration",
        "three simulated logs of 60 days; pages with a click a day",
        news.figure_2,
    ),
    "news-table-1": Entry(
        NEWS,
        "Table 1: news below news prefixes",
        "three simulated logs of 60 days; all labelled pages",
        news.table_1,
    ),
    "news-table-2": Entry(
        NEWS,
        "Table 2 and section 6.2: all sites at once, beside a list of sites",
        "three simulated logs of 60 days as one crawl; all labelled pages, none of them learned from",
        news.table_2,
    ),
    "behavior-figure-6": Entry(
        BEHAVIOR,
        "Figure 6: how long patterns last; figures 7 to 10 by horizon",
        "a simulated log of a blog: 30 days mined, three times ten days judged",
        behavior.figure_6,
    ),
    "behavior-wikispeedia": Entry(
        BEHAVIOR,
        "The same on real people",
        "unfinished paths of the game Wikispeedia (github.com/faustotnc/wikispeedia-gnn), 480 days mined; "
        "finished paths were not at hand, and search results are in no data",
        behavior.wikispeedia,
    ),
    "anthelion-many-hosts": Entry(
        ANTHELION,
        "Relevant pages of many hosts",
        "200 generated hosts in one crawl of 1,000 fetches, asked for the order every five; five draws",
        anthelion.many_hosts,
    ),
    "anthelion-published-files": Entry(
        ANTHELION,
        "A crawl in the form of the published simulator",
        "files of index, network and labels",
        anthelion.published_files,
    ),
}
