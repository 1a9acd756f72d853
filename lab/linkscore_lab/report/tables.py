"""Tables of the figures, and the notes below them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import starmap
from statistics import fmean

from linkscore_lab.metrics import DEFINITIONS, Definition
from linkscore_lab.replay.results import Meta, RunResult, ScoreExplanation
from linkscore_lab.replay.summary import Estimate, RunGroup
from linkscore_lab.report.html import Html, PolicyMark, joined, tag

EXTRAS = {
    "links out": "Links left out because the archive has no page for them, mean.",
    "CPU s": "Processor time of a run in seconds, mean.",
    "runs": "Runs, and how many of them differ: the rest repeats them exactly.",
}
Column = Mapping[str, Estimate | None]


def glance_table(
    questions: Mapping[str, Sequence[RunGroup]], metric: str, marks: Mapping[str, PolicyMark], caption: str
) -> Html:
    """Return one metric of each policy (rows, best first) in each question (columns), the mean last.

    A policy has a mean where it has a value in every question.
    """
    columns = {name: _column(groups, metric) for name, groups in questions.items()}
    policies = [policy for policy in marks if any(policy in column for column in columns.values())]
    means = {policy: _mean([column.get(policy) for column in columns.values()]) for policy in policies}
    if len(columns) > 1:
        columns[f"mean of {len(questions)}"] = means
    policies.sort(key=lambda policy: _rank(means[policy], DEFINITIONS[metric]))
    heads = [tag("th", name, scope="col") for name in columns]
    rows = [
        _row(
            marks[policy],
            [labelled(name, _cell(column, policy, DEFINITIONS[metric])) for name, column in columns.items()],
        )
        for policy in policies
    ]
    return _table(caption, heads, rows)


def metrics_table(groups: Sequence[RunGroup], marks: Mapping[str, PolicyMark], caption: str) -> Html:
    """Return every metric of each policy that answered one question, in the order of `groups`."""
    columns = {name: _column(groups, name) for name in DEFINITIONS if name != _twin(groups[0].task)}
    columns = {name: column for name, column in columns.items() if any(column.values())}
    heads = [_head(DEFINITIONS[name].label, DEFINITIONS[name].text) for name in columns]
    rows = []
    for group in groups:
        cells = [
            labelled(DEFINITIONS[name].label, _cell(column, group.policy, DEFINITIONS[name]))
            for name, column in columns.items()
        ]
        rows.append(_row(marks[group.policy], [*cells, *map(labelled, EXTRAS, _extras(group))]))
    return _table(caption, [*heads, *starmap(_head, EXTRAS.items())], rows, is_wide=True)


def _column(groups: Sequence[RunGroup], metric: str) -> Column:
    return {group.policy: group.metric(metric) for group in groups}


def _twin(task: str) -> str:
    """Return which name of one figure to leave out: a harvest rate is of a target type."""
    return "valid_ratio" if task.startswith("target:") else "harvest_rate"


def _extras(group: RunGroup) -> list[Html]:
    out = fmean(run.links_out_of_archive for run in group.runs)
    cpu_s = fmean(run.cpu_seconds for run in group.runs)
    n, different = len(group.runs), len(group.observations)
    runs = f"{n}" if n == different else f"{n} ({different} differ)" if different > 1 else f"{n} (all equal)"
    return [
        tag("td", f"{out:,.0f}", data_v=out),
        tag("td", f"{cpu_s:,.1f}", data_v=cpu_s),
        tag("td", runs, data_v=n),
    ]


def _mean(found: Sequence[Estimate | None]) -> Estimate | None:
    means = [each.mean for each in found if each is not None]
    return Estimate(fmean(means), None, len(means)) if len(means) == len(found) else None


def _rank(found: Estimate | None, definition: Definition) -> tuple[bool, float]:
    return found is None, -definition.better * found.mean if found else 0.0


def _cell(column: Column, policy: str, definition: Definition) -> Html:
    found = column.get(policy)
    if found is None:
        return tag("td", "–", class_="none")
    half = definition.show(found.half_width) if found.half_width else ""
    spread = tag("small", f" ±{half}") if half.strip("0.") else None
    bar = None if definition.count else f"--v:{min(1.0, max(0.0, found.mean)):.3f}"
    return tag(
        "td",
        definition.show(found.mean),
        spread,
        class_="best" if _is_best(column, found.mean, definition) else None,
        data_v=f"{found.mean:.6g}",
        style=bar if definition.better else None,
    )


def _is_best(column: Column, value: float, definition: Definition) -> bool:
    shown = {definition.show(found.mean) for found in column.values() if found is not None}
    means = [found.mean * definition.better for found in column.values() if found is not None]
    return bool(definition.better) and len(shown) > 1 and value * definition.better >= max(means)


def _row(mark: PolicyMark, cells: Sequence[Html]) -> Html:
    return tag("tr", tag("th", mark.label(), scope="row"), *cells, data_p=mark.number)


def _head(text: str, meaning: str) -> Html:
    return tag("th", tag("abbr", text, title=meaning), scope="col")


def labelled(label: str, cell: Html) -> Html:
    """Return a cell that says what it is where its table is too wide, and its row is shown as a card."""
    return Html(cell.replace("<td", f'<td data-l="{escape(label)}"', 1))


def _table(caption: str, heads: Sequence[Html], rows: Sequence[Html], *, is_wide: bool = False) -> Html:
    head = tag("thead", tag("tr", tag("th", "policy", scope="col"), *heads))
    table = tag(
        "table", tag("caption", caption), head, tag("tbody", *rows), class_=f"sortable{' wide' * is_wide}"
    )
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)


# A bound on the rows of a policy. Chosen, not measured.
MAX_EXPLANATIONS = 8


def explanations(groups: Sequence[RunGroup], marks: Mapping[str, PolicyMark]) -> Html | None:
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
        tag("thead", tag("tr", *starmap(_left_head, heads))),
        tag("tbody", *rows),
    )
    return tag("section", tag("h2", "Inputs"), _scroll(table, "Inputs"), id="inputs")


def definitions(known: Mapping[str, Definition]) -> Html:
    """Return what each metric means."""
    pairs = (
        tag("div", tag("dt", each.label, " ", tag("code", name)), tag("dd", each.text))
        for name, each in known.items()
    )
    lead = "good(n) is the number of target pages among the first n fetches; a fetch is one page downloaded."
    return tag("section", tag("h2", "What the figures mean"), tag("p", lead), tag("dl", *pairs), id="metrics")


def _explained(mark: PolicyMark, found: Sequence[ScoreExplanation]) -> Html:
    heads = (("link", True), ("score", False), ("group", True), ("reason", True))
    rows = (
        tag(
            "tr",
            labelled("link", tag("td", each.url, class_="url")),
            labelled("score", tag("td", f"{each.score:.4g}")),
            labelled("group", tag("td", each.bucket, class_="url")),
            labelled("reason", tag("td", each.summary, class_="text")),
        )
        for each in found
    )
    table = tag(
        "table",
        tag("caption", mark.label()),
        tag("thead", tag("tr", *starmap(_left_head, heads))),
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
        labelled(
            "SHA-256 of its files", tag("td", tag("code", source.sha256) if source else "–", class_="url")
        ),
        labelled("damaged records", tag("td", damaged, class_="warn" if source and source.damaged else None)),
        labelled("reachable pages", tag("td", "–" if pages is None else f"{pages:,}")),
    )


def _left_head(text: str, left: bool) -> Html:
    return tag("th", text, scope="col", class_="left" if left else None)


def _scroll(table: Html, label: str) -> Html:
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=label)
