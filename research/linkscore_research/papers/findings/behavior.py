"""Browsing behaviour: what it claims, and what we found."""

from __future__ import annotations

from linkscore_research.papers.behavior import HORIZONS, WIKI_HORIZONS
from linkscore_research.papers.catalog import BEHAVIOR
from linkscore_research.papers.findings.claims import PARTLY, Claim, Paper

_LOG = [f"days {a + 1} to {b} after" for a, b in HORIZONS]
_REAL = [f"days {a + 1} to {b} after" for a, b in WIKI_HORIZONS]
_GRAPH, _HUBS = (
    "its graph, split as the paper, first referrer",
    "its hubs, split as the paper, first referrer",
)
_FETCH, _DISCOVERY = "behavior_fetch, first referrer", "behavior_discovery, first referrer"

_CLAIMS = (
    Claim(
        "80 % of the visits for under 40 % of the pages, where breadth-first needs over 60 %",
        PARTLY,
        "On a busy log our demand needs {behavior-figure-6|behavior_fetch|days 1 to 10 after}, "
        "breadth-first {behavior-figure-6|breadth-first|days 1 to 10 after}, and the paper's graph more, "
        "{behavior-figure-6|its graph, split as the paper|days 1 to 10 after}. On the sparse paths of real "
        "people our demand is worse than breadth-first, and the graph is no better",
        {
            **{f"behavior-figure-6#1|{days}": (f"{_FETCH} < breadth-first < {_GRAPH}",) for days in _LOG},
            **{f"behavior-wikispeedia#1|{days}": (f"breadth-first = {_GRAPH} < {_FETCH}",) for days in _REAL},
        },
    ),
    Claim(
        "80 % are discovered with 10 % of the pages, where breadth-first needs 55 %",
        PARTLY,
        "{behavior-figure-6#2|its hubs, split as the paper|days 1 to 10 after} by the paper's hubs, "
        "{behavior-figure-6#2|behavior_discovery|days 1 to 10 after} by ours; on real paths "
        "{behavior-wikispeedia#2|its hubs, split as the paper|days 1 to 30 after} and "
        "{behavior-wikispeedia#2|behavior_discovery|days 1 to 30 after}. Breadth-first is never worse than "
        "the paper's hubs: {behavior-figure-6#2|breadth-first|days 1 to 10 after} and "
        "{behavior-wikispeedia#2|breadth-first|days 1 to 30 after}",
        {
            f"{name}#2|{each}": (f"{_DISCOVERY} < breadth-first <= {_HUBS} < 0.1",)
            for name, days in (("behavior-figure-6", _LOG), ("behavior-wikispeedia", _REAL))
            for each in days
        },
    ),
    Claim(
        "Patterns outlast URLs",
        PARTLY,
        "In the third ten days ours fit "
        "{behavior-figure-6|ours|visits, days 21 to 30 after} of the visits. Split as the paper they fit "
        "{behavior-figure-6|those of the paper|visits, days 21 to 30 after}, in the first ten "
        "{behavior-figure-6|those of the paper|visits, days 1 to 10 after}: they fade as URLs do, "
        "{behavior-figure-6|none: *|visits, days 21 to 30 after} and "
        "{behavior-figure-6|none: *|visits, days 1 to 10 after}. On real paths there is one pattern alone",
        {
            **{
                f"behavior-figure-6#3|visits, {days}": ("none: * < those of the paper < 0.8", "0.99 < ours")
                for days in _LOG
            },
            "behavior-wikispeedia#3|how many": ("those of the paper = 1",),
        },
    ),
)

PAPER = Paper(
    BEHAVIOR,
    "Behaviour",
    "Followed by [behavior_fetch and behavior_discovery](policies/behavior.md), whose order is our own; "
    "the paper's is measured beside it.",
    _CLAIMS,
    {
        "behavior-figure-6": "Transits are counted once a client, page and day, with its first referrer. "
        "The paper counts each pair of page and referrer once a client. The rows *pairs* show what that "
        "changes: little, and not always for the better.",
        "behavior-wikispeedia": "These are real people on a real graph, but in a game: they look for one "
        "article. Articles have no URL patterns, so the paper's methods have one pattern and no order. "
        "Demand remembers four days, far too short where a page is visited once a month: counting the "
        "visits of each page in the log is three times as good. Articles where a game begins are drawn by "
        "the program and do not count.",
    },
    (
        ("Figures 8 and 10: clicks of search results", "Data: no log of search results is public"),
        ("Nine sites, six months", "Data: logs of browsers; ours are simulated, or of a game"),
        (
            "Finished paths of Wikispeedia",
            "Data: the file is too large for the copy at hand; the command reads it where it is there",
        ),
        ("Tables 3 and 4: trees", "[Notebook](../../research/notebook/visits-from-logs.md): measured"),
    ),
)
