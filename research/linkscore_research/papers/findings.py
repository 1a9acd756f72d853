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
20,000 pages or live sites. Most rows are one draw. Read differences of a few hundredths as none.
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
    Paper(SOURCE, "SOUrCe", "x", ()),
    Paper(FOCUS, "FoCUS", "x", ()),
    Paper(NEWS, "News", "x", ()),
    Paper(BEHAVIOR, "Behaviour", "x", ()),
    Paper(ANTHELION, "Anthelion", "x", ()),
)
