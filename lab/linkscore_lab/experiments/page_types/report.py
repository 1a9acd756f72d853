"""How well page types are told on sites a model has never seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from linkscore_lab.experiments.page_types.examples import Example
from linkscore_lab.experiments.page_types.train import page_weights
from linkscore_lab.metrics.figures import ratio
from linkscore_scoring.policies.focus.page_types import PageTypeModel

KINDS = ("INDEX", "THREAD", "OTHER")
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
    known = [kind for kind in KINDS if pages[kind] >= MIN_PAGES]
    result = {}
    for kind in known:
        right = confusion[kind, kind]
        claimed = sum(confusion[true, kind] for true in known)
        result[kind] = Score(
            ratio(right, claimed) if claimed else 0.0, ratio(right, sum(confusion[kind, k] for k in KINDS))
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
    for heading in ("page type", "kind", "template", "pages", *KINDS):
        table.add_column(heading, justify="left" if heading in ("page type", "kind", "template") else "right")
    wrong = [row for row in _confusion(examples, found) if row[-1]]
    for kind, example, counts, _ in wrong:
        cells = [f"{counts[k]:,}" for k in KINDS]
        table.add_row(example.page_type, kind, example.template, f"{sum(counts.values()):,}", *cells)
    if wrong:
        console.print(table)


def print_means(console: Console, per_site: Sequence[dict[str, Score]], label: str) -> None:
    """Print the mean over sites of each kind's precision and recall."""
    parts = []
    for kind in KINDS:
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
