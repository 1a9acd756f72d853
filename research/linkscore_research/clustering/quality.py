"""How well clusters match the page classes of a labelled sample."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from linkscore_scoring.clustering.base import Clusterer
from linkscore_scoring.clustering.sample import SamplePage, with_in_links

MIN_CLASS = 4
"""Classes with fewer sampled pages are annotation outliers: too few to be found."""


@dataclass(frozen=True, slots=True)
class Quality:
    """Agreement of a clustering with classes, every figure in [0, 1] but the counts.

    Attributes
    ----------
    purity
        Share of pages that are of the commonest class of their cluster; outliers, being alone, are pure.
    micro_f, macro_f
        Mean over classes of the best F over clusters, weighted by class size and not.
    clusters, classes
        How many there are, outliers not counted.
    """

    purity: float
    micro_f: float
    macro_f: float
    clusters: int
    classes: int


@dataclass(frozen=True, slots=True)
class Precision:
    """Share of unseen pages whose cluster stands for their class: over pages, and mean over clusters."""

    micro: float
    macro: float


def quality(classes: Sequence[str], labels: Sequence[int]) -> Quality:
    """Compare labels with classes, same length; label -1 is a cluster of its own for every page.

    Source: Xu, Gao and Callan 2018, section 5.2.
    """
    groups = [label if label >= 0 else -1 - i for i, label in enumerate(labels)]
    by_group, by_class = Counter(groups), Counter(classes)
    best_f: dict[str, float] = defaultdict(float)
    majority: dict[int, int] = defaultdict(int)
    for (name, group), both in Counter(zip(classes, groups, strict=True)).items():
        best_f[name] = max(best_f[name], 2 * both / (by_class[name] + by_group[group]))
        majority[group] = max(majority[group], both)
    return Quality(
        purity=_over(sum(majority.values()), len(groups)),
        micro_f=_over(sum(best_f[name] * size for name, size in by_class.items()), len(groups)),
        macro_f=_over(sum(best_f.values()), len(by_class)),
        clusters=len({label for label in labels if label >= 0}),
        classes=len(by_class),
    )


def large_classes(classes: Sequence[str], *, at_least: int = MIN_CLASS) -> list[int]:
    """Return the rows whose class has enough pages."""
    sizes = Counter(classes)
    return [i for i, name in enumerate(classes) if sizes[name] >= at_least]


def fold_precision(
    pages: Sequence[SamplePage],
    classes: Sequence[str],
    clusterer: Clusterer,
    *,
    folds: int = 4,
    seed: int = 1,
) -> Precision:
    """Return the mean precision of classifying pages left out, by stratified cross validation.

    Parameters
    ----------
    pages, classes
        Sample, annotation outliers left out, same length.
    clusterer
        What learns from the other folds. In-links of pages left out are those of the pages it learned from.
    folds, seed
        Number of folds, and seed of the draw.

    Notes
    -----
    Source: Xu, Gao and Callan 2018, section 5.2.
    """
    found = []
    for test in stratified_folds(classes, folds=folds, seed=seed):
        left_out = frozenset(test)
        train = [i for i in range(len(pages)) if i not in left_out]
        known = [pages[i] for i in train]
        clustering = clusterer.fit(with_in_links(known, known))
        labels = clustering.model.classify(with_in_links([pages[i] for i in test], known))
        found.append(
            precision(
                ([classes[i] for i in train], clustering.labels.tolist()),
                ([classes[i] for i in test], labels.tolist()),
            )
        )
    micro = _over(sum(p.micro for p in found), len(found))
    return Precision(micro, _over(sum(p.macro for p in found), len(found)))


def precision(
    train: tuple[Sequence[str], Sequence[int]], test: tuple[Sequence[str], Sequence[int]]
) -> Precision:
    """Score clusters on test pages by the class each stands for on training pages.

    A cluster stands for the class it shares most training pages with, ties to the first name. A test page
    that is an outlier is a cluster of its own that stands for nothing: a miss. `train` and `test` are
    (classes, labels).
    """
    overlap: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for name, label in zip(*train, strict=True):
        overlap[label][name] += label >= 0
    stands_for = {
        label: min(names, key=lambda name: (-names[name], name))
        for label, names in overlap.items()
        if label >= 0
    }
    hits: defaultdict[int, list[bool]] = defaultdict(list)
    for i, (name, label) in enumerate(zip(*test, strict=True)):
        hits[label if label >= 0 else -1 - i].append(stands_for.get(label) == name)
    n_test = sum(map(len, hits.values()))
    micro = _over(sum(map(sum, hits.values())), n_test)
    return Precision(micro, _over(sum(_over(sum(h), len(h)) for h in hits.values()), len(hits)))


def stratified_folds(classes: Sequence[str], *, folds: int, seed: int) -> Iterator[list[int]]:
    """Yield the rows of every fold; each class is shuffled and dealt out in turn, on from where the last
    ended.
    """
    rng = np.random.default_rng(seed)
    dealt = []
    for name in sorted(set(classes)):
        rows = [i for i, other in enumerate(classes) if other == name]
        dealt += [rows[i] for i in rng.permutation(len(rows))]
    for fold in range(folds):
        yield sorted(dealt[fold::folds])


def _over(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
