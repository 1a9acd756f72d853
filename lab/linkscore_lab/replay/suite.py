"""Which sites, tasks, modes and policies a replay compares: read from TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from linkscore_cli.files import text_of
from linkscore_lab.datasets.relevance import ByType, Relevance, choose_relevance
from linkscore_lab.replay.policies import PolicyText, read_policy
from linkscore_lab.replay.prepare import SiteSource
from linkscore_lab.replay.runs import MODES, NONE, ReplayProtocol
from linkscore_lab.replay.task import USER_CONTENT
from linkscore_scoring.errors import FieldProblem, InvalidInput

TARGET = "target"
TASKS = (USER_CONTENT, TARGET)
# At 3 the slowest of a hundred fetches takes a thousand times what the median does. A bound, chosen.
MAX_LATENCY_SPREAD = 3.0


@dataclass(frozen=True, slots=True)
class SuiteSite:
    """One site of a suite."""

    source: SiteSource  # Archives and labels
    # What is relevant in task ``user_content``; None leaves that task out. Without targets too, pages with
    # text of their own are wanted, in task ``new_text``
    relevance: Relevance | None = None
    targets: tuple[str, ...] = ()  # Page types that are a task of their own
    kinds: Mapping[str, str] = field(default_factory=dict)  # ENTRY, INDEX, THREAD or OTHER by page type
    modes: tuple[str, ...] = (NONE,)  # What crawls learn of labels: ``none``, ``examples`` or ``feedback``


@dataclass(frozen=True, slots=True)
class Suite:
    """A comparison."""

    sites: tuple[SuiteSite, ...]  # The sites
    policies: tuple[PolicyText, ...]  # What orders the crawls
    protocol: ReplayProtocol = field(default_factory=ReplayProtocol)  # How crawls are carried out and charged
    seeds: int = 5  # Repetitions with seeds 1..n, and start pages: the entry and n - 1 drawn at random
    starts: int = 1


_SITE_KEYS = {
    "warc", "labels", "relevant", "relevant_url", "structured_data", "feedback_file", "targets",
    "wanted_tag", "kinds", "tasks", "modes",
}  # fmt: skip
_SUITE_KEYS = {"site", "policies", "seeds", "starts", "tasks", "modes"}
# What crawls start from is a file, named on the command line.
_PROTOCOL_KEYS = {f.name for f in fields(ReplayProtocol)} - {"experience"}


def read_suite(path: Path) -> Suite:
    """Return the suite of a TOML file; relative paths are relative to it."""
    try:
        table = tomllib.loads(text_of(path))
    except (OSError, ValueError, RecursionError) as exc:
        raise InvalidInput(f"{path}: must be a readable TOML file, got {exc}", field="suite") from exc
    problems = [
        FieldProblem(name, "is no key of a suite") for name in table.keys() - _SUITE_KEYS - _PROTOCOL_KEYS
    ]
    sites = table.get("site") or []
    if not isinstance(sites, list) or not sites:
        problems.append(FieldProblem("site", "at least one [[site]] is needed"))
        sites = []
    for i, site in enumerate(sites):
        problems += [FieldProblem(f"site[{i}].{k}", "is no key of a site") for k in site.keys() - _SITE_KEYS]
        if not site.get("warc"):
            problems.append(FieldProblem(f"site[{i}].warc", "is needed: one archive or a list of them"))
    if problems:
        raise InvalidInput(problems).under(str(path))
    return _suite(table, [_site(site, table, path.parent) for site in sites])


def _suite(table: Mapping[str, Any], sites: Sequence[SuiteSite]) -> Suite:
    protocol = ReplayProtocol(**{name: table[name] for name in _PROTOCOL_KEYS & table.keys()})
    suite = Suite(
        sites=tuple(sites),
        policies=tuple(
            read_policy(text) for text in _names(table.get("policies", ["breadth_first", "harvest"]))
        ),
        protocol=replace(protocol, budget=str(protocol.budget)),
        seeds=int(table.get("seeds", 5)),
        starts=int(table.get("starts", 1)),
    )
    check_suite(suite)
    return suite


def check_suite(suite: Suite) -> None:
    """Refuse a suite that cannot be run."""
    problems = [
        FieldProblem(name, f"must be at least 1, got {value}")
        for name, value in (
            ("seeds", suite.seeds),
            ("starts", suite.starts),
            ("every", suite.protocol.every),
            ("in_flight", suite.protocol.in_flight),
        )
        if value < 1
    ]
    if not 0.0 < suite.protocol.share <= 1.0:
        problems.append(FieldProblem("share", f"must be in (0, 1], got {suite.protocol.share:g}"))
    if suite.protocol.delay < 0:
        problems.append(FieldProblem("delay", f"must be >= 0, got {suite.protocol.delay}"))
    if not 0.0 <= suite.protocol.latency_spread <= MAX_LATENCY_SPREAD:
        rule = f"must be in [0, {MAX_LATENCY_SPREAD:g}], got {suite.protocol.latency_spread:g}"
        problems.append(FieldProblem("latency_spread", rule))
    if (wanted := suite.protocol.in_words) is not None:
        problems += wanted.problems("wanted")
    for i, site in enumerate(suite.sites):
        problems += [FieldProblem(f"site[{i}].{p.field}", p.rule) for p in _site_problems(site)]
    if problems:
        raise InvalidInput(problems)


def _site_problems(site: SuiteSite) -> list[FieldProblem]:
    problems = _unknown("modes", site.modes, MODES)
    if (isinstance(site.relevance, ByType) or site.targets) and site.source.labels is None:
        problems.append(FieldProblem("labels", "is needed where pages are wanted by type"))
    return problems


def _site(site: Mapping[str, Any], defaults: Mapping[str, Any], folder: Path) -> SuiteSite:
    def path(name: str) -> Path | None:
        return folder / site[name] if site.get(name) else None

    tasks, modes = (
        _names(site.get(k, defaults.get(k, v))) for k, v in (("tasks", USER_CONTENT), ("modes", NONE))
    )
    if problems := _unknown("tasks", tasks, TASKS):
        raise InvalidInput(problems)
    relevance = None
    if USER_CONTENT in tasks:
        relevance = choose_relevance(
            types=_names(site.get("relevant", [])),
            url=site.get("relevant_url", ""),
            structured_data=_names(site.get("structured_data", [])),
            feedback=path("feedback_file"),
            tag=site.get("wanted_tag", ""),
        )
    elif not site.get("targets"):
        raise InvalidInput("must name a page type where targets are the only task", field="targets")
    return SuiteSite(
        SiteSource([folder / name for name in _names(site["warc"])], path("labels")),
        relevance,
        tuple(_names(site.get("targets", []))) if TARGET in tasks else (),
        site.get("kinds", {}),
        tuple(modes),
    )


def _unknown(name: str, values: Sequence[str], known: Sequence[str]) -> list[FieldProblem]:
    bad = [value for value in values if value not in known]
    return [FieldProblem(name, f"must be among {', '.join(known)}, got {', '.join(bad)}")] if bad else []


def _names(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
