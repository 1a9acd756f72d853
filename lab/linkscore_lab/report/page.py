"""The page: what was asked at the top, then each question, then what the figures mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files

from linkscore_lab.metrics import DEFINITIONS
from linkscore_lab.replay.results_records import Meta, RunResult
from linkscore_lab.replay.summary import Question, by_question, group_runs
from linkscore_lab.report.html import Html, tag
from linkscore_lab.report.marks import marks_of
from linkscore_lab.report.notes import definitions, inputs_table
from linkscore_lab.report.sections import at_a_glance, question_section, section_id, title_of

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
    page = tag("html", _head(title), tag("body", body, script), lang="en")
    return f"<!doctype html>\n{page}\n"


def _head(title: str) -> Html:
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


def _contents(questions: Iterable[Question]) -> Html:
    items = (tag("li", tag("a", title_of(each), href=f"#{section_id(each)}")) for each in questions)
    return tag("nav", tag("ul", *items), aria_label="Contents")
