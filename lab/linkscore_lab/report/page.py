"""The report of a replay: one HTML file that loads nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from linkscore_lab.metrics import DEFINITIONS
from linkscore_lab.replay.results import Meta, RunResult
from linkscore_lab.replay.summary import (
    Question,
    RunGroup,
    best_first,
    by_question,
    group_runs,
    mode_in_words,
)
from linkscore_lab.report.charts import composition_charts, harvest_chart
from linkscore_lab.report.html import Html, PolicyMark, marks_of, tag
from linkscore_lab.report.tables import definitions, explanations, glance_table, inputs_table, metrics_table
from linkscore_scoring.errors import InvalidInput

CONTENT_TASKS = {"user_content": "user content", "new_text": "pages with new text"}
"""Tasks with a budget, in words; each other one is about a target type."""
_Questions = Mapping[Question, Sequence[RunGroup]]


def title_of(question: Question, groups: Iterable[RunGroup] = ()) -> str:
    """Return a question in words, e.g. ``forum: user content, no labels``."""
    site, task, mode = question
    asked = CONTENT_TASKS.get(task) or task.replace("target:", "target ", 1)
    return f"{site}: {asked}, {mode_in_words(mode, groups)}"


def section_id(question: Question) -> str:
    """Return the anchor of a question's part."""
    return "q-" + hashlib.sha256("\n".join(question).encode()).hexdigest()[:12]


def at_a_glance(questions: _Questions, marks: Mapping[str, PolicyMark]) -> Html:
    """Return tables of one metric over all sites: of content, of target types, each by mode."""
    content: dict[str, dict[str, dict[str, Sequence[RunGroup]]]] = {task: {} for task in CONTENT_TASKS}
    targets: dict[str, dict[str, Sequence[RunGroup]]] = {}
    for (site, task, mode), groups in questions.items():
        if task in content:
            content[task].setdefault(mode, {})[site] = groups
        else:
            targets.setdefault(mode, {})[f"{site}: {task.removeprefix('target:')}"] = groups
    tables = [
        *(
            table
            for task, words in CONTENT_TASKS.items()
            for table in _glances(content[task], ("valid_ratio", "area_5pct"), words, marks)
        ),
        *_glances(targets, ("harvest_rate", "recall"), "pages of a target type", marks),
    ]
    return tag("section", tag("h2", "At a glance"), *tables, id="glance")


def question_section(question: Question, groups: Sequence[RunGroup], marks: Mapping[str, PolicyMark]) -> Html:
    """Return the curves, the figures, what was fetched and why, of all policies that answered `question`."""
    ranked = best_first(groups, "valid_ratio")
    title = title_of(question, groups)
    return tag(
        "section",
        tag("h2", title),
        tag("p", _size(groups), class_="quiet"),
        _examples_taken(groups),
        harvest_chart(ranked, marks, f"Harvest curves of {title}"),
        metrics_table(ranked, marks, "All figures"),
        _folded("What was fetched as the crawl went on", composition_charts(ranked, marks), opened=True),
        _folded("Why links got their scores", explanations(ranked, marks)),
        id=section_id(question),
    )


def _glances(
    modes: Mapping[str, Mapping[str, Sequence[RunGroup]]],
    metrics: Sequence[str],
    asked: str,
    marks: Mapping[str, PolicyMark],
) -> list[Html]:
    in_words = {
        mode: mode_in_words(mode, (group for groups in columns.values() for group in groups))
        for mode, columns in modes.items()
    }
    return [
        glance_table(columns, metric, marks, f"{DEFINITIONS[metric].label}: {asked}, {in_words[mode]}")
        for mode, columns in modes.items()
        for metric in metrics
    ]


def _examples_taken(groups: Sequence[RunGroup]) -> Html | None:
    names = [group.policy for group in groups if group.takes_example]
    return tag("p", f"Given an example page: {', '.join(names)}.", class_="quiet") if names else None


def _size(groups: Sequence[RunGroup]) -> str:
    runs = [run for group in groups for run in group.runs]
    budget, reachable, wanted = (
        max(getattr(run, name) for run in runs) for name in ("budget", "n_reachable", "n_wanted")
    )
    return f"{budget:,} fetches; {reachable:,} pages can be reached, {wanted:,} of them are target pages."


def _folded(title: str, content: Html | None, *, opened: bool = False) -> Html | None:
    return None if content is None else tag("details", tag("summary", title), content, open=opened)


NO_NETWORK = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def report_page(runs: Sequence[RunResult], meta: Meta) -> str:
    """Return the whole page; its policy forbids browsers to load anything."""
    marks = marks_of(runs)
    questions = by_question(group_runs(runs))
    sites = list(dict.fromkeys(run.site for run in runs))
    title = f"Replay of {sites[0]}" if len(sites) == 1 else f"Replay of {len(sites)} sites"
    body = tag(
        "main",
        _header(title, runs, meta),
        _contents(questions),
        tag("div", id="policies"),
        at_a_glance(questions, marks),
        *(question_section(question, groups, marks) for question, groups in questions.items()),
        inputs_table(runs, meta),
        definitions(DEFINITIONS),
    )
    script = tag("script", Html(_asset("report.js")))
    page = tag("html", head(title), tag("body", body, script), lang="en")
    return f"<!doctype html>\n{page}\n"


def head(title: str) -> Html:
    """Return the head of a page that loads nothing."""
    return tag(
        "head",
        Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{NO_NETWORK}">'),
        tag("title", title),
        tag("style", Html(_asset("report.css"))),
    )


def _asset(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _header(title: str, runs: Sequence[RunResult], meta: Meta) -> Html:
    made = f"{len(runs):,} runs, made {meta.created} with linkscore {meta.linkscore}."
    how = (
        "A line is the mean over seeds and starts, the shade around it and the ± behind a figure the "
        "95\u00a0% interval of that mean; without one, a policy ran once or came out the same each time."
    )
    return tag("header", tag("h1", title), tag("p", made), tag("p", how, class_="quiet"))


def _contents(questions: _Questions) -> Html:
    items = (
        tag("li", tag("a", title_of(each, groups), href=f"#{section_id(each)}"))
        for each, groups in questions.items()
    )
    return tag("nav", tag("ul", *items), aria_label="Contents")


def write_report(path: Path, runs: Sequence[RunResult], meta: Meta) -> None:
    """Write one HTML file about `runs`; a file of that name is replaced, folders are made.

    It needs no network and no other file, shows everything without JavaScript (with it, tables sort, policies
    can be hidden and curves be read off), and escapes whatever came from a site.

    Raises
    ------
    InvalidInput
        If there is no run.
    """
    if not runs:
        raise InvalidInput("must have at least one run", field="runs")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(report_page(runs, meta), encoding="utf-8", errors="replace")
