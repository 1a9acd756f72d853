"""News discovery: what it claims, and what we found."""

from __future__ import annotations

from linkscore_research.papers.catalog import NEWS
from linkscore_research.papers.findings.claims import PARTLY, UNTRIED, Claim, Paper

_CLAIMS = (
    Claim(
        "Clicks of news concentrate in their first days: 91.9 % of the others are below 3",
        PARTLY,
        "{news-figure-2|blog_wordpress, literal|others below 3}, "
        "{news-figure-2|forum_phpbb, literal|others below 3} and "
        "{news-figure-2|qa_q2a, literal|others below 3} on three logs, but these are simulated",
        {
            "news-figure-2|mean of others": ("* < *|mean of news",),
            "news-figure-2|others below 3": ("0.86 < *",),
        },
    ),
    Claim(
        "99 % of the news is below three folders",
        PARTLY,
        "It depends on how a site makes its URLs. By labels it is all of the news on the forum, which has "
        "one program for its threads, {news-table-1|blog_wordpress, labels|news inside} pages on the blog, "
        "{news-table-1|blog_wordpress, labels|news outside} outside, and "
        "{news-table-1|qa_q2a, labels|news inside} on the Q&A site, "
        "{news-table-1|qa_q2a, labels|news outside} outside. By the signal the forum has no prefix",
        {
            "news-table-1|news outside": ("forum_phpbb, labels = 0",),
            "news-table-1|prefixes": ("forum_phpbb, signal = 0", "forum_phpbb, labels = 1"),
        },
    ),
    Claim(
        "Hubs lead to more news than homepages (79,292 against 46,210)",
        PARTLY,
        "Three hubs over three sites led visitors to {news-table-2|3|of the log} pages, their front pages "
        "to {news-table-2|3|front pages}; hardly true against the first lists of a menu "
        "([notebook](../../research/notebook/news-from-logs.md))",
        {
            "news-table-2|front pages": ("3|front pages < 3|of the log",),
            "news-table-2|sites": ("3 = 3|sites",),
        },
    ),
    Claim(
        "Prefixes of all sites are 91.0 % news and hold 68.9 % of it; a list of sites 48.8 % and 58.6 %",
        PARTLY,
        "{news-table-2|all sites, * prefixes of the log|precision} and "
        "{news-table-2|all sites, * prefixes of the log|recall}; all pages of the sites are "
        "{news-table-2|all sites, pages of the sites|precision} news. A list that has every site misses "
        "none of it; lists without one of the three have {news-table-2|without blog_wordpress|recall}, "
        "{news-table-2|without forum_phpbb|recall} and {news-table-2|without qa_q2a|recall}",
        {
            "news-table-2|precision": ("*, pages of * < all sites, * prefixes of the log",),
            "news-table-2|recall": ("all sites, * prefixes of the log < all sites, pages of the sites",),
        },
    ),
    Claim(
        "Unknown and temporary sites of news are found",
        UNTRIED + ": data",
        "`linkscore seeds` names them, on any site that a log has or that led to it; no log at hand has a "
        "site that comes and goes",
    ),
)

PAPER = Paper(
    NEWS,
    "News",
    "Followed by [news_prefix](policies/news_prefix.md).",
    _CLAIMS,
    {
        "news-figure-2": "Logs are simulated, so this says that figure and formula agree, not that people "
        "behave so. The paper gives no m; ours is 3. Its eq. 1 misses 1 for even clicks by a day.",
        "news-table-1": "The blog's folders are months, so three of them hold a part. The forum has one "
        "program for all threads.",
        "news-table-2": "As in the paper, hubs and prefixes are judged on the days they were mined from. "
        "These logs name other sites by their host alone, mostly search engines, and a host is no hub.",
    },
    (
        (
            "Threshold 1.91: 2,682 hits, 188 misses, 177 false alarms",
            "The counts add up to 3,047 of 3,040 pages; thresholds of three logs are in the "
            "[notebook](../../research/notebook/news-from-logs.md)",
        ),
        ("Hubs on other sites", "Data: no log at hand names pages of other sites that led to news"),
        (
            "An instant crawler that starts again at hubs",
            "Data: no site at hand has both a log and a history. How late new pages are found at lists "
            "that are fetched again is measured without a log "
            "([notebook](../../research/notebook/revisits.md))",
        ),
    ),
)
