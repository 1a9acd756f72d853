"""How well page clusterers find the templates of labelled sites: purity, F, outliers, seconds.

    python -m benchmarks.bench_clustering --corpora DIR [--pages 1000] [--seed 1] [--held-out]

DIR (or the environment variable LINKSCORE_CORPORA) holds ``NAME.warc.gz``, ``NAME.labels.tsv.gz`` (url,
page_type) and ``page_types.tsv`` (site, page_type, template). Reported, not gating; a site that is not there
is skipped with a line.

F of a class is the best F over clusters; outliers count as singleton clusters; micro weighs classes by size,
macro all alike; classes with fewer than 4 pages in the sample are annotation outliers and left out, as in
Xu 2018. With ``--held-out`` the cut of `cosine_linkage` is chosen on the other sites for each site.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from warcio.archiveiterator import ArchiveIterator

from benchmarks.pages import Corpus
from benchmarks.table import Row
from linkscore_scoring.features.html import extract
from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.site.clusterers.base import Clusterer
from linkscore_scoring.site.clusterers.cosine_linkage import CosineLinkage
from linkscore_scoring.site.clusterers.dbscan import Dbscan

SITES = ("forum_phpbb", "qa_q2a", "wiki_x3", "blog_wordpress")
CUTS = (0.5, 0.6, 0.7, 0.8)
COLUMNS = ("purity", "micro_f", "macro_f", "outliers", "clusters", "classes", "seconds")
MIN_CLASS = 4

CLUSTERERS: dict[str, Clusterer] = {
    "dbscan literal": Dbscan(eps_mode="literal", guard=False),
    "dbscan windowed": Dbscan(eps_mode="windowed"),
    "cosine_linkage": CosineLinkage(),
}
Sample = tuple[list[PathTrie], list[str]]


def main() -> None:
    """Print one table, sites below each other."""
    args = _arguments()
    samples = {site: _sample(args.corpora, site, args.pages, args.seed) for site in SITES}
    present = {site: sample for site, sample in samples.items() if sample}
    print("| clusterer | site |", " | ".join(COLUMNS), "|")
    print("|---" * (len(COLUMNS) + 2) + "|")
    for name, clusterer in CLUSTERERS.items():
        _report(name, {site: evaluate(clusterer, *sample) for site, sample in present.items()})
    if args.held_out:
        _report("cosine_linkage, cut held out", _held_out(present))


def rows(corpus: Corpus) -> list[Row]:
    """Return a row for each labelled site: macro F of the default clusterer on 400 pages."""
    found = []
    for site in SITES:
        sample = _sample(corpus.folder, site, 400, seed=1)
        if sample:
            figures = evaluate(CosineLinkage(), *sample)
            found.append(Row("Clustering, macro F, 400 pages", site, figures["macro_f"], ""))
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", type=Path, default=os.environ.get("LINKSCORE_CORPORA", "corpora"))
    parser.add_argument("--pages", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--held-out", action="store_true")
    args = parser.parse_args()
    args.corpora = Path(args.corpora)
    return args


def _sample(corpora: Path, site: str, pages: int, seed: int) -> Sample | None:
    """Return tries and template names of sampled pages, or None when the site is not there."""
    if not (corpora / f"{site}.warc.gz").exists():
        print(f"skipped {site}: no {site}.warc.gz in {corpora}")
        return None
    templates = _templates(corpora, site)
    chosen = np.random.default_rng(seed).permutation(len(templates))[:pages]
    urls = list(templates)
    wanted = {urls[i] for i in chosen}
    tries, classes = [], []
    for url, body in _records(corpora / f"{site}.warc.gz"):
        if url in wanted:
            tries.append(extract(body, url=url, content_type="text/html").paths)
            classes.append(templates[url])
    return tries, classes


def _templates(corpora: Path, site: str) -> dict[str, str]:
    with (corpora / "page_types.tsv").open() as rows:
        table = [row for row in csv.DictReader(rows, delimiter="\t") if row["site"] == site]
    template = {row["page_type"]: row["template"] for row in table}
    with gzip.open(corpora / f"{site}.labels.tsv.gz", "rt") as rows:
        return {row["url"]: template[row["page_type"]] for row in csv.DictReader(rows, delimiter="\t")}


def _records(path: Path) -> Iterator[tuple[str, bytes]]:
    with path.open("rb") as stream:
        for record in ArchiveIterator(stream):
            if record.rec_type == "response":
                yield record.rec_headers.get_header("WARC-Target-URI"), record.content_stream().read()


def evaluate(clusterer: Clusterer, tries: Sequence[PathTrie], classes: Sequence[str]) -> dict[str, float]:
    """Return the figures of one clusterer on one sample."""
    start = time.perf_counter()
    labels = clusterer.fit(tries).labels
    seconds = time.perf_counter() - start
    sizes = Counter(classes)
    kept = [i for i, name in enumerate(classes) if sizes[name] >= MIN_CLASS]
    figures = quality([classes[i] for i in kept], [int(labels[i]) for i in kept])
    return {**figures, "outliers": float(np.mean(labels < 0)), "seconds": seconds}


def quality(classes: Sequence[str], labels: Sequence[int]) -> dict[str, float]:
    """Return purity and F of labels against classes; label -1 is a cluster of its own for every page."""
    groups = [label if label >= 0 else -1 - i for i, label in enumerate(labels)]
    by_group, by_class = Counter(groups), Counter(classes)
    best_f: dict[str, float] = defaultdict(float)
    majority: dict[int, int] = defaultdict(int)
    for (name, group), both in Counter(zip(classes, groups, strict=True)).items():
        best_f[name] = max(best_f[name], 2 * both / (by_class[name] + by_group[group]))
        majority[group] = max(majority[group], both)
    return {
        "purity": sum(majority.values()) / len(groups),
        "micro_f": sum(best_f[name] * size for name, size in by_class.items()) / len(groups),
        "macro_f": sum(best_f.values()) / len(by_class),
        "clusters": float(len({label for label in labels if label >= 0})),
        "classes": float(len(by_class)),
    }


def _held_out(samples: dict[str, Sample]) -> dict[str, dict[str, float]]:
    figures = {
        cut: {site: evaluate(CosineLinkage(cut=cut), *sample) for site, sample in samples.items()}
        for cut in CUTS
    }
    chosen = {}
    for site in samples:
        others = {
            cut: np.mean([row["macro_f"] for other, row in rows.items() if other != site])
            for cut, rows in figures.items()
        }
        chosen[site] = figures[max(CUTS, key=others.__getitem__)][site]
    return chosen


def _report(name: str, rows: dict[str, dict[str, float]]) -> None:
    for site, row in rows.items():
        print(f"| {name} | {site} |", " | ".join(f"{row[c]:.3g}" for c in COLUMNS), "|")
    if rows:
        means = {c: float(np.mean([row[c] for row in rows.values()])) for c in COLUMNS}
        print(f"| {name} | **mean** |", " | ".join(f"{means[c]:.3f}" for c in COLUMNS), "|")


if __name__ == "__main__":
    main()
