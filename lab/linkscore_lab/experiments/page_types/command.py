"""`linkscore train page-types`: weights of the page type classifiers, and how they do on unseen sites."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from linkscore_lab.experiments.page_types.examples import Example, find_sites, read_examples
from linkscore_lab.experiments.page_types.generated.pages import ENGINES, generated_examples
from linkscore_lab.experiments.page_types.report import classified, print_means, print_site, scores
from linkscore_lab.experiments.page_types.train import Rows, train_all
from linkscore_lab.replay.parallel import cores
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.policies.focus.page_types import model_from

PER_TYPE = 60
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
    console: Console | None = None,
) -> dict[str, Any]:
    """Train on labelled sites; write the weights, print what unseen sites say, and return the weights.

    Parameters
    ----------
    corpora
        Archives or folders of them, with labels and page types beside.
    out
        Where to write the weights; the same input writes the same bytes.
    report
        Whether to classify pages of each site by the model without it.
    report_pages
        Pages of each type for that, each standing for its share of the type; 0: all.
    per_type
        Pages of each type to train on.
    engines
        Made-up engines whose pages are trained on as well.

    Raises
    ------
    InvalidInput
        If an archive lacks labels, or there are fewer than two sites.
    """
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
        show(console, plain, everything)
    return plain


def show(console: Console, plain: dict[str, Any], found: dict[str, list[Example]]) -> None:
    """Print the figures of each site under the model without it, and their means over sites with threads."""
    by_page, balanced = [], []
    for name, examples in found.items():
        kinds = classified(model_from(plain["without"][name]), examples)
        print_site(console, name, examples, kinds)
        if any(example.kind == "THREAD" for example in examples):
            by_page.append(scores(examples, kinds, by_page=True))
            balanced.append(scores(examples, kinds, by_page=False))
    print_means(console, by_page, "by page")
    print_means(console, balanced, "balanced")


def as_json(plain: dict[str, Any]) -> str:
    """Return weights as text, a line for each list."""
    return json.dumps(plain, separators=(",", ":"), sort_keys=True).replace(',"', ',\n"') + "\n"
