"""Weights of the page type classifiers, and how they do on sites not seen."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from linkscore_cli.output import figures_to, json_file_option, write_json
from linkscore_lab.commands import ARCHIVE, OUT, lab_errors
from linkscore_lab.metrics import ratio
from linkscore_lab.replay.parallel import cores
from linkscore_research.page_types.examples import Example, find_sites, read_examples
from linkscore_research.page_types.generated import ENGINES, generated_examples
from linkscore_research.page_types.train import Rows, page_weights, train_all
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.policies.focus.page_types import PageTypeModel, model_from

REPORTED_KINDS = ("INDEX", "THREAD", "OTHER")
# A kind with fewer pages on a site has no figure worth printing. Chosen, not measured.
MIN_PAGES = 5


@dataclass(frozen=True, slots=True)
class Score:
    """Precision and recall of one kind on one site; nan where there is nothing to find."""

    precision: float
    recall: float


def classified(model: PageTypeModel, examples: Sequence[Example]) -> list[str]:
    """Return the kind of each example as the model has it."""
    return [model.classify(example.signals)[0].name for example in examples]


def scores(examples: Sequence[Example], found: Sequence[str], *, by_page: bool) -> dict[str, Score]:
    """Return the scores of one site for each kind with at least 5 pages, entry pages left out.

    With `by_page` each page counts once; else kinds count alike and in a kind templates by the root of their
    pages, which is how an annotator who takes some of each would see them.
    """
    weights = [e.pages for e in examples] if by_page else page_weights(examples).tolist()
    confusion: Counter[tuple[str, str]] = Counter()
    pages: Counter[str] = Counter()
    for example, kind, weight in zip(examples, found, weights, strict=True):
        confusion[example.kind, kind] += weight
        pages[example.kind] += 1
    known = [kind for kind in REPORTED_KINDS if pages[kind] >= MIN_PAGES]
    result = {}
    for kind in known:
        right = confusion[kind, kind]
        claimed = sum(confusion[true, kind] for true in known)
        result[kind] = Score(
            ratio(right, claimed) if claimed else 0.0,
            ratio(right, sum(confusion[kind, k] for k in REPORTED_KINDS)),
        )
    return result


def print_site(console: Console, name: str, examples: Sequence[Example], found: Sequence[str]) -> None:
    """Print the scores of a site, and the types of page that are not told well."""
    line = [f"[bold]{name}[/] ({len(examples):,} pages)"]
    for label, by_page in (("by page", True), ("balanced", False)):
        told = scores(examples, found, by_page=by_page)
        line.append(
            f"{label}: " + ", ".join(f"{k} P {s.precision:.3f} R {s.recall:.3f}" for k, s in told.items())
        )
    console.print("; ".join(line), soft_wrap=True)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("page type", "kind", "template", "pages", *REPORTED_KINDS):
        table.add_column(heading, justify="left" if heading in ("page type", "kind", "template") else "right")
    wrong = [row for row in _confusion(examples, found) if row[-1]]
    for kind, example, counts, _ in wrong:
        cells = [f"{counts[k]:,}" for k in REPORTED_KINDS]
        table.add_row(example.page_type, kind, example.template, f"{sum(counts.values()):,}", *cells)
    if wrong:
        console.print(table)


def print_means(console: Console, per_site: Sequence[dict[str, Score]], label: str) -> None:
    """Print the mean over sites of each kind's precision and recall."""
    parts = []
    for kind in REPORTED_KINDS:
        told = [site[kind] for site in per_site if kind in site]
        if told:
            precision = sum(s.precision for s in told) / len(told)
            recall = sum(s.recall for s in told) / len(told)
            parts.append(f"{kind} P {precision:.3f} R {recall:.3f} ({len(told)} sites)")
    console.print(f"mean {label}: {', '.join(parts)}", soft_wrap=True)


def _confusion(
    examples: Sequence[Example], found: Sequence[str]
) -> list[tuple[str, Example, Counter[str], int]]:
    """Return kind, an example, answers and errors of each page type, most errors first."""
    rows: dict[str, tuple[Example, Counter[str]]] = {}
    for example, kind in zip(examples, found, strict=True):
        rows.setdefault(example.page_type, (example, Counter()))[1][kind] += 1
    table = [
        (example.kind, example, counts, sum(counts.values()) - counts[_answer(example.kind)])
        for example, counts in rows.values()
    ]
    return sorted(table, key=lambda row: (-row[-1], row[1].page_type))


def _answer(kind: str) -> str:
    return "INDEX" if kind == "ENTRY" else kind


# Pages drawn of each type (research/notebook/page-types.md). Chosen, not measured.
PER_TYPE = 60
# A model is calibrated on margins of sites it has not seen, so there must be another one.
MIN_SITES = 2


def run_training(
    corpora: Sequence[Path],
    *,
    out: Path | None = None,
    report: bool = False,
    report_pages: int = 0,
    per_type: int = PER_TYPE,
    engines: int = ENGINES,
    workers: int = 0,
    json_file: Path | None = None,
    console: Console | None = None,
) -> dict[str, Any]:
    """Train on labelled sites; write the weights, print what unseen sites say, and return the weights."""
    console = console or Console()
    sites = find_sites(corpora)
    if len(sites) < MIN_SITES:
        raise InvalidInput(f"needs at least {MIN_SITES} sites, got {len(sites)}", field="corpora")
    found: dict[str, list[Example]] = {}
    for site in sites:
        found[site.name] = read_examples(site, per_type=per_type, workers=workers or cores())
        console.print(f"{site.name}: {len(found[site.name]):,} pages to train on")
    made = generated_examples(engines)
    console.print(f"generated: {len(made):,} pages to train on")
    plain = train_all(Rows.of([*made, *(e for examples in found.values() for e in examples)]), list(found))
    if out is not None:
        out.write_text(as_json(plain), encoding="utf-8")
        console.print(f"weights: {out}", soft_wrap=True)
    if report:
        everything = {
            site.name: read_examples(site, per_type=report_pages, workers=workers or cores())
            for site in sites
        }
        write_json(json_file, show(console, plain, everything))
    return plain


def show(
    console: Console, plain: dict[str, Any], found: dict[str, list[Example]]
) -> dict[str, dict[str, dict[str, Score]]]:
    """Print and return the figures of each site under the model without it, and print their means."""
    by_page, balanced = [], []
    figures = {}
    for name, examples in found.items():
        kinds = classified(model_from(plain["without"][name]), examples)
        print_site(console, name, examples, kinds)
        told = {"by_page": scores(examples, kinds, by_page=True)}
        told["balanced"] = scores(examples, kinds, by_page=False)
        figures[name] = told
        if any(example.kind == "THREAD" for example in examples):
            by_page.append(told["by_page"])
            balanced.append(told["balanced"])
    print_means(console, by_page, "by page")
    print_means(console, balanced, "balanced")
    return figures


def as_json(plain: dict[str, Any]) -> str:
    """Return weights as text, a line for each list."""
    return json.dumps(plain, separators=(",", ":"), sort_keys=True).replace(',"', ',\n"') + "\n"


@click.command()
@click.argument("corpora", metavar="CORPUS...", nargs=-1, required=True, type=ARCHIVE)
@click.option("--out", type=OUT, help="Write the weights here.")
@click.option("--report", is_flag=True, help="Classify pages of each site by the model without it.")
@click.option(
    "--report-pages",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Pages of each type for that; 0: all.",
)
@click.option(
    "--per-type",
    type=click.IntRange(0),
    default=60,
    show_default=True,
    help="Pages of each type to train on; 0: all.",
)
@click.option("--workers", type=click.IntRange(0), default=0, help="Processes; 0 means one a core.")
@json_file_option
def main(corpora: tuple[Path, ...], json_file: Path | None, **options: Any) -> None:
    """Train index and thread page classifiers on labelled archives, or folders of them."""
    if json_file is not None and not options["report"]:
        raise click.UsageError("--json needs --report: it writes its figures.")
    with lab_errors(), figures_to(json_file) as file:
        run_training(corpora, json_file=file, **options)
