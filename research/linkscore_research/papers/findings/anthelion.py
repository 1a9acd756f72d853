"""Anthelion: what it claims, and what we found."""

from __future__ import annotations

from linkscore_research.papers.catalog import ANTHELION
from linkscore_research.papers.findings.claims import HOLDS, PARTLY, Claim, Paper

_CLAIMS = (
    Claim(
        "Three times as many relevant pages as breadth-first",
        HOLDS,
        "{anthelion-many-hosts|20%, bandit and classifier|x breadth-first} times where a fifth of "
        "generated hosts has markup, {anthelion-many-hosts|5%, bandit and classifier|x breadth-first} "
        "times where a twentieth has, which breadth-first hardly finds; with hubs, which the paper does "
        "not have, {anthelion-many-hosts|20%, default, hubs too|x breadth-first} and "
        "{anthelion-many-hosts|5%, default, hubs too|x breadth-first}",
        {
            "anthelion-many-hosts|x breadth-first": (
                "3 < *%, bandit and classifier",
                "3 < *%, default, hubs too",
            )
        },
    ),
    Claim(
        "The bandit finds 26 % more than the classifier alone",
        PARTLY,
        "{anthelion-many-hosts|20%, bandit and classifier|x classifier alone} times as many, and "
        "{anthelion-many-hosts|5%, bandit and classifier|x classifier alone} times where the target is "
        "rare; but the draws overlap widely",
        {"anthelion-many-hosts|x classifier alone": ("1.26 < *%, bandit and classifier",)},
    ),
    Claim(
        "Random hosts, fewer with time, find more",
        PARTLY,
        "After 500 fetches {anthelion-many-hosts|20%, the same, *|in 500} pages instead of "
        "{anthelion-many-hosts|20%, bandit and classifier|in 500}, where the target is rare "
        "{anthelion-many-hosts|5%, the same, *|in 500} instead of "
        "{anthelion-many-hosts|5%, bandit and classifier|in 500}. Not after 1,000: "
        "{anthelion-many-hosts|20%, the same, *|in 1,000} instead of "
        "{anthelion-many-hosts|20%, bandit and classifier|in 1,000}, and "
        "{anthelion-many-hosts|5%, the same, *|in 1,000} instead of "
        "{anthelion-many-hosts|5%, bandit and classifier|in 1,000}; the draws overlap widely",
        {
            "anthelion-many-hosts|in 500": [
                f"{share}, bandit and classifier < {share}, the same, *" for share in ("5%", "20%")
            ],
            "anthelion-many-hosts|in 1,000": [
                f"{share}, the same, * < {share}, bandit and classifier" for share in ("5%", "20%")
            ],
        },
    ),
)

PAPER = Paper(
    ANTHELION,
    "Anthelion",
    "Followed by [anthelion](policies/anthelion.md).",
    _CLAIMS,
    {
        "anthelion-many-hosts": "Before the first relevant page is reported, shapes of URLs hardly fetched "
        "on any host come first. The bandit counts front pages and lists as failures of their host, as in "
        "the paper, and goes from host to host for long. In the rare case the classifier alone finds more "
        "on one draw of five ([notebook](../../research/notebook/anthelion.md)). Factors are those of the "
        "means.",
    },
    (
        (
            "5 million pages of Common Crawl",
            "Data: the files are not at hand. `anthelion-published-files` reads them where they are",
        ),
        ("66 % more for a narrow target", "Definition: the public text does not say against what"),
        ("Table of the Nutch plugin", "Data: one crawl of the live web for each row"),
    ),
)
