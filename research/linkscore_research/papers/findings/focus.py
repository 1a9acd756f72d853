"""FoCUS: what it claims, and what we found."""

from __future__ import annotations

from linkscore_research.papers.catalog import FOCUS
from linkscore_research.papers.findings.claims import HOLDS, PARTLY, Claim, Paper

_TOLD = ("vBulletin", "XenForo", "Discourse", "SMF")  # engines whose lists are told

_CLAIMS = (
    Claim(
        "Effectiveness over 98 %, coverage over 97 %",
        PARTLY,
        "Coverage is {focus-effectiveness|*, focus|coverage} everywhere. Counting index pages and page "
        "flips too, effectiveness is {focus-effectiveness|qa_q2a, focus|index, thread and flip pages} to "
        "1.000; threads alone, as the text says, "
        "{focus-effectiveness|forum_ips_gopiratia, focus|threads alone} to "
        "{focus-effectiveness|forum_opendcl, focus|threads alone}. One generated engine is taken for no "
        "forum, {focus-effectiveness|generated, as phpBB, focus|index, thread and flip pages}: title, "
        "author and date of a thread are one block of its lists, which no signal tells",
        {
            "focus-effectiveness|coverage": ("*, focus = 1",),
            "focus-effectiveness|index, thread and flip pages": (
                "generated, as phpBB, focus < qa_q2a, focus <= forum_*, focus",
                *(f"qa_q2a, focus <= generated, as {name}, focus" for name in _TOLD),
            ),
            "focus-effectiveness|threads alone": (
                "generated, as phpBB, focus < forum_ips_gopiratia, focus <= forum_*, focus",
                "forum_ips_gopiratia, focus <= qa_q2a, focus <= forum_opendcl, focus",
            ),
        },
    ),
    Claim(
        "Also on Q&A sites and blogs (97 % and more)",
        PARTLY,
        "{focus-effectiveness|qa_q2a, focus, breadth-first|index, thread and flip pages} and "
        "{focus-effectiveness|blog_wordpress, focus, breadth-first|index, thread and flip pages} in the "
        "order of the paper, {focus-effectiveness|qa_q2a, focus|index, thread and flip pages} on the former "
        "with threads first; threads alone "
        "{focus-effectiveness|qa_q2a, focus|threads alone} and "
        "{focus-effectiveness|blog_wordpress, focus|threads alone}",
        {
            "focus-effectiveness|index, thread and flip pages": (
                "qa_q2a, focus < 0.97 < qa_q2a, focus, breadth-first",
                "0.97 < blog_wordpress, focus, breadth-first",
            ),
            "focus-effectiveness|threads alone": ("qa_q2a, focus < 0.97", "blog_wordpress, focus < 0.97"),
        },
    ),
    Claim(
        "Five forums are enough to train on (96 % and more)",
        PARTLY,
        "On stored sites for index pages, recall {focus-table-2|5, stored sites|index recall}. Of threads "
        "it is {focus-table-2|5, stored sites|thread recall} with five and "
        "{focus-table-2|40, stored sites|thread recall} with forty. Among made-up engines precision of "
        "index pages is {focus-table-2|40, other made-up engines|index precision} with forty too",
        {
            "focus-table-2|index recall": ("0.96 < 5, stored sites",),
            "focus-table-2|thread recall": (
                "5, stored sites < 10, stored sites < 40, stored sites",
                "5, stored sites < 0.96 < 40, stored sites",
            ),
            "focus-table-2|index precision": ("*, other made-up engines < 0.8", "0.96 < *, stored sites"),
        },
    ),
    Claim(
        "The entry is found from any page (99 %), by keywords from 76 %",
        HOLDS,
        "{focus-table-3|mean|entry by focus} from pages drawn; keywords fail wherever a forum has its own "
        "folder without one of them: {focus-table-3|mean|entry by keywords}",
        {
            "focus-table-3|entry by focus": ("0.99 <= mean",),
            "focus-table-3|entry by keywords": tuple(
                f"generated, as {engine} = 0" for engine in ("vBulletin", "Discourse", "SMF")
            ),
        },
    ),
    Claim(
        "From pages that are no entry half of the threads are missed (coverage 52 %)",
        PARTLY,
        "A crawler that stays on index and thread pages has "
        "{focus-other-starts|generated, as phpBB|by kind, threads} where only the entry links the boards, "
        "and all where lists link each other; focus finds the entry and has "
        "{focus-other-starts|generated, as phpBB|focus, threads}",
        {
            "focus-other-starts|by kind, threads": (
                "generated, * < 0.25",
                "blog_wordpress = 1",
                "qa_q2a = 1",
            ),
            "focus-other-starts|focus, threads": ("0.99 < *",),
        },
    ),
    Claim(
        "A generic crawler that obeys nofollow and robots.txt is 50 % effective",
        PARTLY,
        "From {focus-effectiveness|qa_q2a, obeys_hints|threads alone} on the Q&A site to "
        "{focus-effectiveness|forum_opendcl, obeys_hints|threads alone} on an archive of plain pages; on "
        "generated forums {focus-effectiveness|generated, as phpBB, obeys_hints|threads alone} without "
        "hints and {focus-effectiveness|generated, as XenForo, obeys_hints|threads alone} with nofollow on "
        "all that is of no use",
        {
            "focus-effectiveness|threads alone": (
                "qa_q2a, obeys_hints <= *, obeys_hints <= forum_opendcl, obeys_hints",
                "generated, as phpBB, obeys_hints <= generated, *, obeys_hints",
            )
        },
    ),
)

PAPER = Paper(
    FOCUS,
    "FoCUS",
    "Followed by [focus](policies/focus.md): it votes as pages come, where the paper learns once.",
    _CLAIMS,
    {
        "focus-effectiveness": "The paper defines effectiveness by thread pages, but no forum is crawled "
        "without its index pages. Its figures of 98 % and more fit the second reading alone. *focus* "
        "fetches threads first, and leaves lists that show nothing new; *breadth-first* is the order of "
        "the paper over the same verdicts. The former is better where many lists show the same threads. "
        "Two stored forums are fragments.\n\n"
        "Votes were tuned on the stored sites; the page types never saw the site they are measured on. The "
        "archives hold no robots.txt, so *obeys_hints* has nofollow alone there. Crawls of a stored site "
        "draw nothing.",
        "focus-table-2": "The paper trains on real forums; made-up engines take their place here, and "
        "their lists and word clouds are made to be hard to part. The shipped model has both kinds.",
        "focus-table-3": "Each crawl from a page drawn has 150 fetches. Two of five generated forums are "
        "in a folder that keywords find or are the whole host, as are the stored sites; there keywords "
        "cannot fail.",
        "focus-other-starts": "*By kind* follows links to index and thread pages by their labels, and the "
        "entry page is neither. In *worst* is the start with the least coverage.",
    },
    (
        ("160 packages, nine forums", "Data: none of them is public; five engines are generated"),
        (
            "Figures 13, 14: iRobot, the structure-driven crawler",
            "[Notebook](../../research/notebook/focus.md)",
        ),
        ("Page flips: precision 99 %", "[Notebook](../../research/notebook/page-links.md): measured"),
    ),
)
