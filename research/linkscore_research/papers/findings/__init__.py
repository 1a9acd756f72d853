"""What the papers claim, and what we found: the words of the page, its figures looked up in the results.

A figure is written ``{NAME|ROW|COLUMN}``: of the result of that name the first row that begins so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from linkscore_research.papers.catalog import ANTHELION, BEHAVIOR, FOCUS, NEWS, SOURCE

HOLDS, PARTLY, FAILS, UNTRIED = "holds", "holds partly", "does not hold", "cannot be tried"

INTRODUCTION = """# The papers, reproduced

Five papers are behind the policies. This page puts each table and figure of theirs beside ours. It is made of
`research/papers/results` by `python -m linkscore_research.papers page`, and
`python -m linkscore_research.papers --list` names what can be measured again.

Our sites are not theirs: a few thousand pages each, real engines or true captures, where they had mirrors of
20,000 pages or live sites. The line *data* of a table says how many draws it has, a column *draws* their
least and largest. Read differences of a few hundredths as none.
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """A headline claim: what the paper says with its figure, our verdict, and why."""

    claim: str
    verdict: str
    why: str


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper.

    Attributes
    ----------
    title, name
        As in the catalog, and as a heading.
    about
        Which policies follow it, and where they differ.
    claims
        The headline claims.
    remarks
        What a table says, by the name of its result.
    not_tried
        Rows without a result: what, and why.
    """

    title: str
    name: str
    about: str
    claims: Sequence[Claim]
    remarks: Mapping[str, str] = field(default_factory=dict)
    not_tried: Sequence[tuple[str, str]] = ()


PAPERS = (
    Paper(
        SOURCE,
        "SOUrCe",
        "Followed by [source_ucc and source_target](policies/source.md), beside [tpm](policies/tpm.md) and "
        "[irobot](policies/irobot.md).",
        (
            Claim(
                "Nearly all that is fetched is user content: .9989, breadth-first .8779",
                FAILS,
                "{source-table-3|SOUrCe,|valid ratio, ours} with our clusters, "
                "{source-table-3|SOUrCe, as|valid ratio, ours} as in the paper, breadth-first "
                "{source-table-3|BFS|valid ratio, ours}",
            ),
            Claim(
                "The three factors of eq. 11 together are best (.9954)",
                FAILS,
                "Without Info it is {source-table-5|Dsim x Balance|valid ratio, ours}, with all three "
                "{source-table-5|Info x Dsim x Balance|valid ratio, ours}; Balance is what counts",
            ),
            Claim(
                "Balance makes the result more diverse",
                PARTLY,
                "Entropy {source-table-5|Info x Dsim x Balance|entropy, ours} with it, "
                "{source-table-5|Info x Dsim,|entropy, ours} without; on the blog and the Q&A site alone",
            ),
            Claim(
                "For a target it finds .822 of the pages, TPM .273, breadth-first .355",
                PARTLY,
                "{source-table-4|SOUrCe,|recall, ours}, as in the paper {source-table-4|SOUrCe, as|recall, "
                "ours}; "
                "TPM {source-table-4|TPM|recall, ours}, breadth-first {source-table-4|BFS|recall, ours}",
            ),
            Claim(
                "A growing crawl for a target finds them sooner than breadth-first, and ends at .95",
                HOLDS,
                "95 % of the posts of a blog in "
                "{source-figures-6-7|blog_wordpress, post, SOUrCe|fetches to 95 %} fetches, breadth-first "
                "{source-figures-6-7|blog_wordpress, post, BFS|fetches to 95 %}",
            ),
            Claim(
                "200 to 1,000 pages to learn from are as good, and its own sampling is better than "
                "breadth-first",
                PARTLY,
                "On a forum: valid ratio {source-figure-8|forum_phpbb, valid ratio, own|200 pages} with 200 "
                "and {source-figure-8|forum_phpbb, valid ratio, own|1,000 pages} with 1,000 pages, and for a "
                "target its own sampling is better throughout. Not on a blog: "
                "{source-figure-8|blog_wordpress, valid ratio, own|200 pages} with 200 and "
                "{source-figure-8|blog_wordpress, valid ratio, own|400 pages} with 400 pages, and for a "
                "target breadth-first sampling is better",
            ),
        ),
        {
            "source-table-3": "Recall follows from the valid ratio, as the budget is fixed: only the former "
            "tells "
            "policies apart, here and in the paper, where it is at its ceiling. *As the paper* is DBSCAN "
            "with the "
            "literal rule for eps and a table that is frozen once learned. *harvest* is for comparison.",
            "source-table-4": "Where its patterns run out the paper's TPM stops, ours goes on with other "
            "links: so "
            "its recall here is as high as its harvest rate. On the wiki ours depends on which example page "
            "is drawn, the paper's way to learn a site hardly.",
            "source-figure-8": "On the blog some pages more give another result; why was not looked into. "
            "No spread is shown where all draws are equal.",
            "source-table-5": "The paper varies by .006, our sites by .4: theirs hold little but user "
            "content. "
            "Balance keeps the crawl from one large cluster that is not the content, and Info leads to such "
            "clusters: lists of tags and of users are the best linked ones.",
        },
        (
            ("Figure 5 and table 2: clusters", "[Notebook](../../research/notebook/clusterers.md): measured"),
            ("Six live sites, 20,000 pages each", "Data: no mirror of them is public"),
            (
                "Figure 6, the unbounded site",
                "Data: a stored site ends, so harvest rate must fall once most targets are fetched",
            ),
        ),
    ),
    Paper(
        FOCUS,
        "FoCUS",
        "Followed by [focus](policies/focus.md): it votes as pages come, where the paper learns once.",
        (
            Claim(
                "Effectiveness over 98 %, coverage over 97 %",
                PARTLY,
                "Coverage is 1.000 everywhere. Counting index pages and page flips too, effectiveness is "
                "{focus-effectiveness|qa_q2a, focus|index, thread and flip pages} to 1.000; threads alone, "
                "as the "
                "text says, {focus-effectiveness|qa_q2a, focus|threads alone} to "
                "{focus-effectiveness|forum_opendcl, focus|threads alone}",
            ),
            Claim(
                "Also on Q&A sites and blogs (97 % and more)",
                PARTLY,
                "{focus-effectiveness|qa_q2a, focus|index, thread and flip pages} and "
                "{focus-effectiveness|blog_wordpress, focus|index, thread and flip pages}; threads alone "
                "{focus-effectiveness|qa_q2a, focus|threads alone} and "
                "{focus-effectiveness|blog_wordpress, focus|threads alone}",
            ),
            Claim(
                "Five forums are enough to train on",
                PARTLY,
                "Precision of index pages on stored sites is {focus-table-2|5, stored|index precision} with "
                "five, "
                "{focus-table-2|10, stored|index precision} with ten",
            ),
            Claim(
                "The entry is found from any page (99 %), by keywords from 76 %",
                HOLDS,
                "{focus-table-3|mean|entry by focus} from pages drawn; keywords fail wherever a forum has "
                "its own "
                "folder without one of them: {focus-table-3|mean|entry by keywords}",
            ),
            Claim(
                "From pages that are no entry half of the threads are missed (coverage 52 %)",
                PARTLY,
                "A crawler that stays on index and thread pages has "
                "{focus-other-starts|generated, as phpBB|by kind, threads} where only the entry links the "
                "boards, "
                "and all where lists link each other; focus finds the entry and has "
                "{focus-other-starts|generated, as phpBB|focus, threads}",
            ),
            Claim(
                "A generic crawler that obeys nofollow and robots.txt is 50 % effective",
                PARTLY,
                "From {focus-effectiveness|qa_q2a, obeys|threads alone} on the Q&A site to "
                "{focus-effectiveness|forum_opendcl, obeys|threads alone} on an archive of plain pages; on "
                "generated "
                "forums {focus-effectiveness|generated, as phpBB, obeys|threads alone} without hints and "
                "{focus-effectiveness|generated, as XenForo, obeys|threads alone} with nofollow on all that "
                "is of "
                "no use",
            ),
        ),
        {
            "focus-effectiveness": "The paper defines effectiveness by thread pages, but no forum is crawled "
            "without its index pages. Its figures of 98 % and more fit the second reading alone. *focus* "
            "fetches threads first, and leaves lists that show nothing new; *breadth-first* is the order of "
            "the paper over the same verdicts. The former is better where many lists show the same threads. "
            "Two stored forums are fragments.\n\n"
            "Votes were tuned on the stored sites; the page types never saw the site they are measured on. "
            "The "
            "archives hold no robots.txt, so *obeys_hints* has nofollow alone there.",
            "focus-table-3": "Each crawl from a page drawn has 150 fetches. Two of five generated forums "
            "are in a "
            "folder that keywords find or are the whole host, as are the stored sites; there keywords "
            "cannot fail.",
            "focus-other-starts": "*By kind* follows links to index and thread pages by their labels, and "
            "the "
            "entry page is neither. In *worst* is the start with the least coverage.",
            "focus-table-2": "The paper trains on real forums; made-up engines take their place here, and "
            "their lists and word clouds are made to be hard to part. The shipped model has both kinds.",
        },
        (
            ("160 packages, nine forums", "Data: none of them is public; five engines are generated"),
            (
                "Figures 13, 14: iRobot, the structure-driven crawler",
                "[Notebook](../../research/notebook/focus.md)",
            ),
            ("Page flips: precision 99 %", "[Notebook](../../research/notebook/page-links.md): measured"),
        ),
    ),
    Paper(
        NEWS,
        "News",
        "Followed by [news_prefix](policies/news_prefix.md).",
        (
            Claim(
                "Clicks of news concentrate in their first days: 91.9 % of the others are below 3",
                PARTLY,
                "{news-figure-2|blog_wordpress, literal|others below 3}, "
                "{news-figure-2|forum_phpbb, literal|others below 3} and "
                "{news-figure-2|qa_q2a, literal|others below 3} on three logs, but these are "
                "simulated",
            ),
            Claim(
                "99 % of the news is below three folders",
                PARTLY,
                "It depends on how a site makes its URLs: all of it on the forum, "
                "{news-table-1|qa_q2a, labels|news inside} of 1,338 pages on the Q&A site",
            ),
            Claim(
                "Hubs lead to more news than homepages (79,292 against 46,210)",
                PARTLY,
                "Three hubs over three sites led visitors to {news-table-2|3,|of the log} pages, their front "
                "pages to {news-table-2|3,|front pages}; hardly true against the first lists of a menu "
                "([notebook](../../research/notebook/news-from-logs.md))",
            ),
            Claim(
                "Prefixes of all sites are 91.0 % news and hold 68.9 % of it; a list of sites 48.8 % and "
                "58.6 %",
                PARTLY,
                "{news-table-2|all sites, 28 prefixes of the log|precision} and "
                "{news-table-2|all sites, 28 prefixes of the log|recall}; all pages of the sites are "
                "{news-table-2|all sites, pages of the sites|precision} news. A list that has every site "
                "misses none of it, one without the forum has "
                "{news-table-2|without forum_phpbb|recall} of it",
            ),
            Claim(
                "Unknown and temporary sites of news are found",
                UNTRIED + ": data",
                "`logs seeds` names them, on any site that a log has or that led to it; no log at hand has a "
                "site that comes and goes",
            ),
        ),
        {
            "news-figure-2": "Logs are simulated, so this says that figure and formula agree, not that "
            "people "
            "behave so. The paper gives no m; ours is 3. Its eq. 1 misses 1 for even clicks by a day.",
            "news-table-2": "As in the paper, hubs and prefixes are judged on the days they were mined from. "
            "These logs name other sites by their host alone, mostly search engines, and a host is no hub.",
            "news-table-1": "The blog's folders are months, so three of them hold a part. The forum has one "
            "program for all threads.",
        },
        (
            (
                "Threshold 1.91: 2,682 hits, 188 misses, 177 false alarms",
                "The counts add up to 3,047 of 3,040 pages; ours is fitted "
                "([notebook](../../research/notebook/news-from-logs.md))",
            ),
            ("Hubs on other sites", "Data: no log at hand names pages of other sites that led to news"),
            (
                "An instant crawler that starts again at hubs",
                "Scope: no replay has a site that changes by the hour",
            ),
        ),
    ),
    Paper(
        BEHAVIOR,
        "Behaviour",
        "Followed by [behavior_fetch and behavior_discovery](policies/behavior.md), whose default rankings "
        "are "
        "our own.",
        (
            Claim(
                "80 % of the visits for under 40 % of the pages, where breadth-first needs over 60 %",
                PARTLY,
                "Our demand needs {behavior-figure-6|behavior_fetch, first|days 1 to 10 after} on a busy "
                "log, the "
                "paper's graph {behavior-figure-6|its graph|days 1 to 10 after}. On the sparse paths of real "
                "people our demand is worse than breadth-first, and the graph is no better",
            ),
            Claim(
                "80 % are discovered with 10 % of the pages",
                HOLDS,
                "{behavior-figure-6|its hubs|days 1 to 10 after} by the paper's hubs, "
                "{behavior-figure-6|behavior_discovery, first|days 1 to 10 after} by ours; on real paths "
                "{behavior-wikispeedia|its hubs|days 1 to 30 after} and "
                "{behavior-wikispeedia|behavior_discovery, first|days 1 to 30 after}, but breadth-first is "
                "as good "
                "as the former",
            ),
            Claim(
                "Patterns outlast URLs",
                HOLDS,
                "In the third ten days they fit {behavior-figure-6|syntax (paper)|visits, days 21 to 30 "
                "after} of "
                "the visits split as the paper, {behavior-figure-6|syntax,|visits, days 21 to 30 after} "
                "split as "
                "ours; the URLs themselves {behavior-figure-6|none|visits, days 21 to 30 after}",
            ),
        ),
        {
            "behavior-figure-6": "Transits are counted once a client, page and day, with its first "
            "referrer. The "
            "paper counts each pair of page and referrer once a client. The rows *pairs* show what that "
            "changes: "
            "little, and not always for the better.",
            "behavior-wikispeedia": "These are real people on a real graph, but in a game: they look for one "
            "article. Articles have no URL patterns, so the paper's methods have one pattern and no order. "
            "Demand remembers four days, far too short where a page is visited once a month: counting the "
            "visits "
            "of each page in the log is three times as good. Articles where a game begins are drawn by the "
            "program and do not count.",
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
    ),
    Paper(
        ANTHELION,
        "Anthelion",
        "Followed by [anthelion](policies/anthelion.md).",
        (
            Claim(
                "Three times as many relevant pages as breadth-first",
                HOLDS,
                "{anthelion-many-hosts|20%, bandit|x breadth-first} times where a fifth of the hosts has "
                "markup, {anthelion-many-hosts|5%, bandit|x breadth-first} times where a twentieth has, "
                "which breadth-first hardly finds; "
                "with hubs, which the paper does not have, "
                "{anthelion-many-hosts|5%, default|x breadth-first} there",
            ),
            Claim(
                "The bandit finds 26 % more than the classifier alone",
                PARTLY,
                "{anthelion-many-hosts|20%, bandit|x classifier alone} times as many, and "
                "{anthelion-many-hosts|5%, bandit|x classifier alone} times where the target is rare; but "
                "the draws overlap widely",
            ),
            Claim(
                "Random hosts, fewer with time, find more",
                FAILS,
                "Where the target is rare, {anthelion-many-hosts|5%, the same|in 1,000} instead of "
                "{anthelion-many-hosts|5%, bandit|in 1,000} pages; else "
                "{anthelion-many-hosts|20%, the same|in 1,000} instead of "
                "{anthelion-many-hosts|20%, bandit|in 1,000}",
            ),
        ),
        {
            "anthelion-many-hosts": "Before the first relevant page is reported, shapes of URLs hardly "
            "fetched on any host come first. The bandit counts front pages and lists as failures of their "
            "host, as in the paper, and goes from host to host for long. In the rare case the classifier "
            "alone finds more on one draw of five ([notebook](../../research/notebook/anthelion.md)). "
            "Factors are those of the means. The published code is measured with its errors.",
        },
        (
            (
                "5 million pages of Common Crawl",
                "Data: the files are not at hand. `anthelion-published-files` reads them where they are",
            ),
            ("66 % more for a narrow target", "Definition: the public text does not say against what"),
            ("Table of the Nutch plugin", "Data: one crawl of the live web for each row"),
        ),
    ),
)
