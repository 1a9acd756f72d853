"""How a policy is told from the others in every chart and table: by number, colour and dashes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from linkscore_lab.replay.results_records import RunResult
from linkscore_lab.report.html import Html, joined, tag

BASELINE = "breadth_first"
N_COLOURS = 8
N_DASHES = 4


@dataclass(frozen=True, slots=True)
class Mark:
    """What stands for one policy.

    Attributes
    ----------
    policy
        Its name.
    number
        From 1, in order of appearance.
    style
        CSS classes of its colour and its dashes.
    """

    policy: str
    number: int
    style: str

    def swatch(self) -> Html:
        """Return a short piece of its line with the number."""
        line = tag("svg", tag("path", d="M1 6H27"), viewBox="0 0 28 12", class_="key", aria_hidden="true")
        return joined(tag("span", line, class_=self.style), tag("b", str(self.number), class_="no"))

    def label(self) -> Html:
        """Return swatch and name."""
        return tag(
            "span", self.swatch(), " ", tag("span", _breakable(self.policy), class_="name"), class_="mark"
        )


def marks_of(runs: Iterable[RunResult]) -> dict[str, Mark]:
    """Return the mark of each policy; breadth-first, the baseline, is grey and dotted."""
    marks, n_coloured = {}, 0
    for number, policy in enumerate(dict.fromkeys(run.policy for run in runs), start=1):
        style = "base"
        if policy != BASELINE:
            style = f"c{n_coloured % N_COLOURS} d{n_coloured // N_COLOURS % N_DASHES}"
            n_coloured += 1
        marks[policy] = Mark(policy, number, style)
    return marks


def _breakable(name: str) -> Html:
    """Let a long name go on in the next line after its punctuation."""
    return joined(*(joined(part, Html("<wbr>")) for part in re.split(r"(?<=[_:,=])", name)))
