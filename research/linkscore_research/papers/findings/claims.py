"""What a paper claims, what we found, and the figures that our words rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from linkscore_research.papers.figures import Facts

HOLDS, PARTLY, FAILS, UNTRIED = "holds", "holds partly", "does not hold", "cannot be tried"


@dataclass(frozen=True, slots=True)
class Claim:
    """A headline claim.

    Attributes
    ----------
    claim
        What the paper says, with its figure.
    verdict
        Ours, one of the above.
    why
        In words; figures are references in braces.
    facts
        What must be true of the results for the words to be: where they refute it, no page is made of them.
    """

    claim: str
    verdict: str
    why: str
    facts: Facts = field(default_factory=dict)


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
        What a table says, by the name of its result; figures are references in braces.
    not_tried
        Rows without a result: what, and why.
    """

    title: str
    name: str
    about: str
    claims: Sequence[Claim]
    remarks: Mapping[str, str] = field(default_factory=dict)
    not_tried: Sequence[tuple[str, str]] = ()
