"""The parts about the figures: all sites at a glance, and one part for each question."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from linkscore_lab.metrics import DEFINITIONS
from linkscore_lab.replay.summary import Group, Question, best_first, told
from linkscore_lab.report.composition import composition_charts
from linkscore_lab.report.curves import harvest_chart
from linkscore_lab.report.html import Html, tag
from linkscore_lab.report.marks import Mark
from linkscore_lab.report.notes import explanations
from linkscore_lab.report.tables import glance_table, metrics_table

USER_CONTENT = "user_content"
_Questions = Mapping[Question, Sequence[Group]]


def title_of(question: Question) -> str:
    """Return a question in words, e.g. ``forum: user content, told nothing``."""
    site, task, mode = question
    asked = "user content" if task == USER_CONTENT else task.replace("target:", "target ", 1)
    return f"{site}: {asked}, {told(mode)}"


def section_id(question: Question) -> str:
    """Return the anchor of a question's part."""
    return "q-" + hashlib.sha256("\n".join(question).encode()).hexdigest()[:12]


def at_a_glance(questions: _Questions, marks: Mapping[str, Mark]) -> Html:
    """Return tables of one metric over all sites: of user content, of target types, each by mode."""
    content: dict[str, dict[str, Sequence[Group]]] = {}
    targets: dict[str, dict[str, Sequence[Group]]] = {}
    for (site, task, mode), groups in questions.items():
        if task == USER_CONTENT:
            content.setdefault(mode, {})[site] = groups
        else:
            targets.setdefault(mode, {})[f"{site}: {task.removeprefix('target:')}"] = groups
    tables = [
        *_glances(content, ("valid_ratio", "area_5pct"), "user content", marks),
        *_glances(targets, ("harvest_rate", "recall"), "pages of a target type", marks),
    ]
    return tag("section", tag("h2", "At a glance"), *tables, id="glance")


def question_section(question: Question, groups: Sequence[Group], marks: Mapping[str, Mark]) -> Html:
    """Return the curves, the figures, what was fetched and why, of all policies that answered `question`."""
    ranked = best_first(groups, "valid_ratio")
    title = title_of(question)
    return tag(
        "section",
        tag("h2", title),
        tag("p", _size(groups), class_="quiet"),
        harvest_chart(ranked, marks, f"Harvest curves of {title}"),
        metrics_table(ranked, marks, "All figures"),
        _folded("What was fetched as the crawl went on", composition_charts(ranked, marks), opened=True),
        _folded("Why links got their scores", explanations(ranked, marks)),
        id=section_id(question),
    )


def _glances(
    modes: Mapping[str, Mapping[str, Sequence[Group]]],
    metrics: Sequence[str],
    asked: str,
    marks: Mapping[str, Mark],
) -> list[Html]:
    return [
        glance_table(columns, metric, marks, f"{DEFINITIONS[metric].label}: {asked}, {told(mode)}")
        for mode, columns in modes.items()
        for metric in metrics
    ]


def _size(groups: Sequence[Group]) -> str:
    runs = [run for group in groups for run in group.runs]
    budget, reachable, wanted = (
        max(getattr(run, name) for run in runs) for name in ("budget", "n_reachable", "n_wanted")
    )
    return f"{budget:,} fetches; {reachable:,} pages can be reached, {wanted:,} of them are wanted."


def _folded(title: str, content: Html | None, *, opened: bool = False) -> Html | None:
    return None if content is None else tag("details", tag("summary", title), content, open=opened)
