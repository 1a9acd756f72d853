"""The page: what was asked at the top, then each question, then what the figures mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files

from linkscore_lab.metrics import DEFINITIONS
from linkscore_lab.replay.report.composition import composition_charts
from linkscore_lab.replay.report.curves import harvest_chart
from linkscore_lab.replay.report.html import Html, tag
from linkscore_lab.replay.report.marks import Mark, marks_of
from linkscore_lab.replay.report.notes import definitions, explanations, inputs_table
from linkscore_lab.replay.report.tables import glance_table, metrics_table
from linkscore_lab.replay.results_records import Meta, RunResult
from linkscore_lab.replay.summary import Group, Question, best_first, by_question, group_runs

USER_CONTENT = "user_content"
TOLD = {
    "none": "told nothing",
    "examples": "given example pages",
    "feedback": "told after each fetch",
}
GLANCES = ("valid_ratio", "area_5pct")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def report_page(runs: Sequence[RunResult], meta: Meta) -> str:
    """Return the whole page."""
    marks = marks_of(runs)
    questions = by_question(group_runs(runs))
    sites = list(dict.fromkeys(run.site for run in runs))
    title = f"Replay of {sites[0]}" if len(sites) == 1 else f"Replay of {len(sites)} sites"
    body = tag(
        "main",
        _head(title, runs, meta),
        tag("div", id="policies"),
        *_glances(questions, marks),
        *(_section(question, groups, marks) for question, groups in questions.items()),
        inputs_table(runs, meta),
        definitions(DEFINITIONS),
    )
    head = tag(
        "head",
        Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        tag("title", title),
        tag("style", Html(_asset("report.css"))),
    )
    page = tag("html", head, tag("body", body, tag("script", Html(_asset("report.js")))), lang="en")
    return f"<!doctype html>\n{page}\n"


def _asset(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _head(title: str, runs: Sequence[RunResult], meta: Meta) -> Html:
    made = f"{len(runs):,} runs, made {meta.created} with linkscore {meta.linkscore}."
    how = (
        "A line is the mean over seeds and starts, the shade around it and the ± behind a figure the "
        "95\u00a0% interval of that mean; without one, a policy ran once or came out the same each time."
    )
    return tag("header", tag("h1", title), tag("p", made), tag("p", how, class_="quiet"))


def _glances(questions: Mapping[Question, Sequence[Group]], marks: Mapping[str, Mark]) -> list[Html]:
    """One table over sites for each mode, metric and kind of task."""
    kinds: dict[tuple[bool, str], dict[str, Sequence[Group]]] = {}
    for (site, task, mode), groups in questions.items():
        ucc = task == USER_CONTENT
        name = site if ucc else f"{site}: {task.removeprefix('target:')}"
        kinds.setdefault((ucc, mode), {})[name] = groups
    tables = [
        glance_table(columns, metric, marks, f"{DEFINITIONS[metric].label}: {_asked(ucc)}, {_told(mode)}")
        for (ucc, mode), columns in kinds.items()
        for metric in GLANCES
    ]
    return [tag("section", tag("h2", "At a glance"), *tables, id="glance")] if tables else []


def _section(question: Question, groups: Sequence[Group], marks: Mapping[str, Mark]) -> Html:
    site, task, mode = question
    runs = [run for group in groups for run in group.runs]
    ranked = best_first(groups, "valid_ratio")
    said = f"{site}: {_asked(task == USER_CONTENT, task)}, {_told(mode)}"
    size = (
        f"{max(run.budget for run in runs):,} fetches; {max(run.n_reachable for run in runs):,} pages can be "
        f"reached, {max(run.n_wanted for run in runs):,} of them are wanted."
    )
    return tag(
        "section",
        tag("h2", said),
        tag("p", size, class_="quiet"),
        harvest_chart(ranked, marks, f"Harvest curves of {said}"),
        metrics_table(groups, marks, "All figures"),
        _folded("What was fetched as the crawl went on", composition_charts(ranked, marks), opened=True),
        _folded("Why links got their scores", explanations(ranked, marks)),
    )


def _folded(title: str, content: Html | None, *, opened: bool = False) -> Html | None:
    return None if content is None else tag("details", tag("summary", title), content, open=opened)


def _asked(user_content: bool, task: str = "") -> str:
    if user_content:
        return "user content"
    return f"target {task.removeprefix('target:')}" if task else "pages of a target type"


def _told(mode: str) -> str:
    return TOLD.get(mode, mode)
