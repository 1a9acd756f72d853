"""What stands below the figures: reasons of scores, where the sites came from, what the metrics mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import starmap

from linkscore_lab.metrics import Definition
from linkscore_lab.replay.results_records import Explanation, Meta, RunResult
from linkscore_lab.replay.summary import Group
from linkscore_lab.report.html import Html, joined, tag
from linkscore_lab.report.marks import Mark

MAX_EXPLANATIONS = 8


def explanations(groups: Sequence[Group], marks: Mapping[str, Mark]) -> Html | None:
    """Return samples of why links had their score, of the first run of each policy that has some."""
    parts = []
    for group in groups:
        found = next((run.explanations for run in group.runs if run.explanations), ())
        if found:
            parts.append(_explained(marks[group.policy], found[:MAX_EXPLANATIONS]))
    return joined(*parts) if parts else None


def inputs_table(runs: Sequence[RunResult], meta: Meta) -> Html:
    """Return which archive each site was read from, with its digest and its damage."""
    names = dict.fromkeys([*meta.inputs, *(run.site for run in runs)])
    heads = (
        ("site", True),
        ("SHA-256 of its files", True),
        ("damaged records", False),
        ("reachable pages", False),
    )
    rows = (_input_row(name, runs, meta) for name in names)
    table = tag(
        "table",
        tag("thead", tag("tr", *starmap(_head, heads))),
        tag("tbody", *rows),
    )
    return tag("section", tag("h2", "Inputs"), _scroll(table, "Inputs"), id="inputs")


def definitions(known: Mapping[str, Definition]) -> Html:
    """Return what each metric means."""
    pairs = (
        tag("div", tag("dt", each.label, " ", tag("code", name)), tag("dd", each.text))
        for name, each in known.items()
    )
    lead = "good(n) is the number of wanted pages among the first n fetches; a fetch is one page downloaded."
    return tag("section", tag("h2", "What the figures mean"), tag("p", lead), tag("dl", *pairs), id="metrics")


def _explained(mark: Mark, found: Sequence[Explanation]) -> Html:
    heads = (("link", True), ("score", False), ("group", True), ("reason", True))
    rows = (
        tag(
            "tr",
            tag("td", each.url, class_="url"),
            tag("td", f"{each.score:.4g}"),
            tag("td", each.bucket, class_="url"),
            tag("td", each.summary, class_="text"),
        )
        for each in found
    )
    table = tag(
        "table",
        tag("caption", mark.label()),
        tag("thead", tag("tr", *starmap(_head, heads))),
        tag("tbody", *rows),
    )
    return tag("div", _scroll(table, f"Scores of {mark.policy}"), data_p=mark.number)


def _input_row(name: str, runs: Sequence[RunResult], meta: Meta) -> Html:
    source = meta.inputs.get(name)
    pages = max((run.n_reachable for run in runs if run.site == name), default=None)
    damaged = f"{source.damaged:,}" if source else "–"
    return tag(
        "tr",
        tag("th", name, scope="row"),
        tag("td", tag("code", source.sha256) if source else "–", class_="url"),
        tag("td", damaged, class_="warn" if source and source.damaged else None),
        tag("td", "–" if pages is None else f"{pages:,}"),
    )


def _head(text: str, left: bool) -> Html:
    return tag("th", text, scope="col", class_="left" if left else None)


def _scroll(table: Html, label: str) -> Html:
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=label)
