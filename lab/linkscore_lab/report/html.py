"""HTML put together safely, and how a policy is marked wherever it appears."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from linkscore_lab.replay.results import RunResult


class Html(str):
    """Text that is markup; any other text is escaped when it becomes part of one."""

    __slots__ = ()


def tag(name: str, *children: str | None, **attributes: str | float | bool | None) -> Html:
    """Return an element; in names of attributes ``_`` stands for ``-``, at the end for nothing.

    Attributes that are None or False are left out, True gives a bare one. Children that are None are too.
    """
    inner = "".join(_safe(child) for child in children if child is not None)
    return Html(f"<{name}{''.join(map(_attribute, attributes.items()))}>{inner}</{name}>")


def joined(*parts: str | None) -> Html:
    """Return the parts one after the other."""
    return Html("".join(_safe(part) for part in parts if part is not None))


def _safe(text: str) -> str:
    return text if isinstance(text, Html) else escape(text)


def _attribute(item: tuple[str, str | float | bool | None]) -> str:
    name, value = item[0].rstrip("_").replace("_", "-"), item[1]
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


BASELINE = "breadth_first"
# Classes c0 to c7 and d0 to d3 of report.css.
N_COLOURS = 8
N_DASHES = 4  # as above


@dataclass(frozen=True, slots=True)
class PolicyMark:
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


def marks_of(runs: Iterable[RunResult]) -> dict[str, PolicyMark]:
    """Return the mark of each policy; breadth-first, the baseline, is grey and dotted."""
    marks, n_coloured = {}, 0
    for number, policy in enumerate(dict.fromkeys(run.policy for run in runs), start=1):
        style = "base"
        if policy != BASELINE:
            style = f"c{n_coloured % N_COLOURS} d{n_coloured // N_COLOURS % N_DASHES}"
            n_coloured += 1
        marks[policy] = PolicyMark(policy, number, style)
    return marks


def _breakable(name: str) -> Html:
    """Let a long name go on in the next line after its punctuation."""
    return joined(*(joined(part, Html("<wbr>")) for part in re.split(r"(?<=[_:,=])", name)))
