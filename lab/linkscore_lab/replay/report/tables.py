"""Tables of the figures: one that shows all sites at a glance, one with every metric of one question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from linkscore_lab.metrics import DEFINITIONS, Definition
from linkscore_lab.replay.estimate import Estimate, estimate
from linkscore_lab.replay.report.html import Html, tag
from linkscore_lab.replay.report.marks import Mark
from linkscore_lab.replay.summary import Group, best_first

Column = Mapping[str, Estimate | None]


def glance_table(
    columns: Mapping[str, Sequence[Group]], metric: str, marks: Mapping[str, Mark], caption: str
) -> Html:
    """Return one metric of each policy (rows) in each question (columns), the mean over questions last.

    The mean is given where a policy has a value in every question.
    """
    values: dict[str, dict[str, Estimate | None]] = {
        name: {group.policy: group.metric(metric) for group in groups} for name, groups in columns.items()
    }
    policies = [policy for policy in marks if any(policy in column for column in values.values())]
    if len(columns) > 1:
        values["mean"] = {policy: _mean(policy, list(values.values())) for policy in policies}
    definition = DEFINITIONS[metric]
    last = values[list(values)[-1]]
    policies.sort(key=lambda policy: -definition.better * (found.mean if (found := last.get(policy)) else -1))
    heads = [tag("th", name, scope="col", class_="num") for name in values]
    rows = [
        _row(marks[policy], [_cell(column, policy, definition) for column in values.values()])
        for policy in policies
    ]
    return _table(caption, heads, rows)


def metrics_table(groups: Sequence[Group], marks: Mapping[str, Mark], caption: str) -> Html:
    """Return every metric of each policy that answered one question, best first by valid ratio."""
    names = [name for name in DEFINITIONS if name != _twin(groups[0].task)]
    names = [name for name in names if any(group.metric(name) for group in groups)]
    columns = {name: {group.policy: group.metric(name) for group in groups} for name in names}
    heads = [
        tag(
            "th",
            tag("abbr", DEFINITIONS[name].label, title=DEFINITIONS[name].text),
            scope="col",
            class_="num",
        )
        for name in names
    ]
    extras = [_plain_head("links out", "Links left out because the archive has no page for them, mean.")]
    extras += [_plain_head("CPU s", "Processor time of a run in seconds, mean.")]
    extras += [_plain_head("runs", "Runs, and how many of them differ: the rest repeats them exactly.")]
    rows = [
        _row(
            marks[group.policy],
            [
                *(_cell(columns[name], group.policy, DEFINITIONS[name]) for name in names),
                *_extras(group),
            ],
        )
        for group in best_first(groups, "valid_ratio")
    ]
    return _table(caption, [*heads, *extras], rows)


def _twin(task: str) -> str:
    """Return which name of one figure to leave out: a valid ratio is of user content."""
    return "harvest_rate" if task == "user_content" else "valid_ratio"


def _extras(group: Group) -> list[Html]:
    out = fmean(run.links_out_of_archive for run in group.runs)
    cpu_s = fmean(run.cpu_seconds for run in group.runs)
    n, different = len(group.runs), len(group.observations)
    runs = f"{n}" if n == different else f"{n} ({different} differ)" if different > 1 else f"{n} (all equal)"
    return [
        tag("td", f"{out:,.0f}", data_v=out),
        tag("td", f"{cpu_s:,.1f}", data_v=cpu_s),
        tag("td", runs, data_v=n),
    ]


def _mean(policy: str, columns: Sequence[Column]) -> Estimate | None:
    found = [column.get(policy) for column in columns]
    means = [each.mean for each in found if each is not None]
    if len(means) < len(columns):
        return None
    whole = estimate(means)
    return Estimate(whole.mean, None, whole.n) if whole else None


def _cell(column: Column, policy: str, definition: Definition) -> Html:
    found = column.get(policy)
    if found is None:
        return tag("td", "–", class_="none")
    half = definition.show(found.half) if found.half else ""
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


def _row(mark: Mark, cells: Sequence[Html]) -> Html:
    return tag("tr", tag("th", mark.label(), scope="row"), *cells, data_p=mark.number)


def _plain_head(text: str, meaning: str) -> Html:
    return tag("th", tag("abbr", text, title=meaning), scope="col", class_="num")


def _table(caption: str, heads: Sequence[Html], rows: Sequence[Html]) -> Html:
    head = tag("thead", tag("tr", tag("th", "policy", scope="col"), *heads))
    table = tag("table", tag("caption", caption), head, tag("tbody", *rows), class_="sortable")
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)
