"""Weights of the page type classifiers, and how they do on sites not seen."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console

from linkscore_lab.commands import OUT, lab_errors
from linkscore_lab.metrics import ratio
from linkscore_lab.replay.prepare import cores
from linkscore_research.page_types.examples import Example, find_sites, read_examples
from linkscore_research.page_types.generated import ENGINES, generated_examples
from linkscore_research.page_types.train import Rows, train_all
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.policies.focus.policy import PageTypeModel


def classified(model: PageTypeModel, examples: Sequence[Example]) -> list[str]:
    """Return the kind of each example as the model has it."""
    return [KINDS[model.classify(example.signals)[0] - 1] for example in examples]


KINDS = ("INDEX", "THREAD", "OTHER")
# Pages drawn of each type (research/notebook/page-types.md). Chosen, not measured.
PER_TYPE = 60
# A model is calibrated on margins of sites it has not seen, so there must be another one.
MIN_SITES = 2


def run_training(
    corpora: Sequence[Path],
    *,
    out: Path | None = None,
    report: bool = False,
    per_type: int = PER_TYPE,
    engines: int = ENGINES,
    workers: int = 0,
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
        text = json.dumps(plain, separators=(",", ":"), sort_keys=True).replace(',"', ',\n"')
        out.write_text(f"{text}\n", encoding="utf-8")
        console.print(f"weights: {out}", soft_wrap=True)
    for site in sites if report else ():
        examples = read_examples(site, per_type=0, workers=workers or cores())
        told = told_apart(
            examples, classified(msgspec.convert(plain["without"][site.name], PageTypeModel), examples)
        )
        figures = ", ".join(f"{kind} P {p:.3f} R {r:.3f}" for kind, (p, r) in told.items())
        console.print(f"{site.name}: {figures}", soft_wrap=True)
    return plain


def told_apart(examples: Sequence[Example], found: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return precision and recall of each kind, entry pages left out; each page counts once."""
    counts: defaultdict[tuple[str, str], float] = defaultdict(float)
    for example, kind in zip(examples, found, strict=True):
        if example.kind in KINDS:
            counts[example.kind, kind] += example.pages
    figures = {}
    for kind in KINDS:
        right = counts[kind, kind]
        claimed, there = (sum(n for pair, n in counts.items() if pair[at] == kind) for at in (1, 0))
        figures[kind] = (ratio(right, claimed), ratio(right, there))
    return figures


@click.command()
@click.argument("corpora", metavar="CORPUS...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=OUT, help="Write the weights here.")
@click.option("--report", is_flag=True, help="Classify pages of each site by the model without it.")
@click.option(
    "--per-type", type=click.IntRange(0), default=PER_TYPE, show_default=True, help="Pages; 0: all."
)
@click.option("--workers", type=click.IntRange(0), default=0, help="Processes; 0 means one a core.")
def main(corpora: tuple[Path, ...], **options: Any) -> None:
    """Train index and thread page classifiers on labelled archives, or folders of them."""
    with lab_errors():
        run_training(corpora, **options)
