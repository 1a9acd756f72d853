"""How well page clusterers find the templates of labelled sites, with the parameters the command has not.

    python -m linkscore_research.clustering.held_out --corpora DIR [--pages 1000] [--seed 1] [--held-out]

DIR (or the environment variable LINKSCORE_CORPORA) holds ``NAME.warc.gz``, ``NAME.labels.tsv.gz`` (url,
page_type) and ``page_types.tsv`` (site, page_type, template). Reported, not gating; a site that is not there
is skipped with a line. Figures are those of the command `cluster`, without cross validation; with
``--held-out`` the cut of `cosine_linkage` is chosen on the other sites for each site.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from rich.console import Console

from linkscore_lab.datasets.labels import read_templates
from linkscore_research.clusterers.dbscan import Dbscan
from linkscore_research.clustering.report import Figures, measure, print_figures
from linkscore_research.clustering.sample import LabelledSample, draw_sample
from linkscore_scoring.clustering.base import Clusterer
from linkscore_scoring.clustering.cosine_linkage import CosineLinkage
from linkscore_scoring.clustering.registry import CLUSTERERS

SITES = ("forum_phpbb", "qa_q2a", "wiki_x3", "blog_wordpress")
CUTS = (0.5, 0.6, 0.7, 0.8)
MEASURED: dict[str, Clusterer] = {
    "dbscan, literal eps": Dbscan(eps_mode="literal", guard=False),
    **{name: kind() for name, kind in CLUSTERERS.items()},
}


def main() -> None:
    """Print one table, sites below each other."""
    args = _arguments()
    samples = _samples(args.corpora, args.pages, args.seed)
    found = [
        measure(name, clusterer, sample, folds=0)
        for name, clusterer in MEASURED.items()
        for sample in samples
    ]
    if args.held_out:
        found += _held_out(samples)
    print_figures(Console(width=200), found)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", type=Path, default=Path(os.environ.get("LINKSCORE_CORPORA", "corpora")))
    parser.add_argument("--pages", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--held-out", action="store_true")
    return parser.parse_args()


def _samples(corpora: Path, pages: int, seed: int) -> list[LabelledSample]:
    """Return a sample of every site that is there, classes being templates."""
    found = []
    for site in SITES:
        warc, labels = corpora / f"{site}.warc.gz", corpora / f"{site}.labels.tsv.gz"
        if warc.exists() and labels.exists():
            templates = read_templates(corpora / "page_types.tsv")[site]
            found.append(draw_sample(warc, labels, pages=pages, seed=seed, templates=templates))
        else:
            print(f"skipped {site}: no {warc.name} with labels in {corpora}")
    return found


def _held_out(samples: list[LabelledSample]) -> list[Figures]:
    """Return the figures of each site at the cut that is best on the others."""
    name = "cosine_linkage, cut held out"
    figures = {cut: [measure(name, CosineLinkage(cut=cut), s, folds=0) for s in samples] for cut in CUTS}
    chosen = []
    for i in range(len(samples)):
        others = {
            cut: np.mean([row.large.macro_f for j, row in enumerate(rows) if j != i])
            for cut, rows in figures.items()
        }
        chosen.append(figures[max(CUTS, key=others.__getitem__)][i])
    return chosen


if __name__ == "__main__":
    main()
