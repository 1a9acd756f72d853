"""What a cluster is worth: informativeness, diversity and balance (Xu 2018, equations 9 to 12)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

FLOOR = 1e-6


def info(a: Vector, h: Vector, *, alpha: float = 0.5) -> Vector:
    """Return the informativeness of every cluster, (n,) float64 (eq. 9).

    Parameters
    ----------
    a, h
        Authority and hub scores, (n,).
    alpha
        Weight of the authority: 0.5 for user content, 0.8 for a target (Xu 2018, section 5).
    """
    return alpha * a + (1.0 - alpha) * h  # eq. 9


def dsim(vectors: NDArray[np.float64], labels: NDArray[np.int64], clusters: NDArray[np.int64]) -> Vector:
    """Return the mean Euclidean distance of members to their mean vector, (n_clusters,) float64 (eq. 10).

    Parameters
    ----------
    vectors
        Weights of the sample, (n_pages, n_paths).
    labels
        Cluster of every page, (n_pages,).
    clusters
        Labels to report, in this order.

    Notes
    -----
    A cluster of one page or of identical pages has 0, a cluster without pages too: `score` floors the factor.
    The paper calls the term a variance in prose; the printed formula (plain distance, not squared) is
    implemented.
    """
    return np.array([_spread(vectors[labels == cluster]) for cluster in clusters], dtype=np.float64)


def _spread(members: NDArray[np.float64]) -> float:
    if len(members) < 2:
        return 0.0
    offsets = members - members.mean(axis=0)
    return float(np.sqrt((offsets * offsets).sum(axis=1)).mean())  # eq. 10


def balance(crawled: NDArray[np.int64], total: int) -> Vector:
    """Return 1 - r for every cluster, (n,) float64: r is the share of crawled pages that fell into it.

    Parameters
    ----------
    crawled
        Pages crawled so far in each cluster, (n,).
    total
        All crawled pages, outliers included; 0 gives 1 everywhere.
    """
    if total <= 0:
        return np.ones(len(crawled))
    return 1.0 - crawled / float(total)  # section 4.4.1, Balance


def score(info_term: Vector, dsim_term: Vector, balance_term: Vector) -> Vector:
    """Return the value of every cluster, (n,) float64, higher is better (eq. 11).

    Difference from the paper: Dsim and Balance are floored at 1e-6, so that one zero does not erase the order
    given by the others (a constant template, or a site of one cluster).
    """
    return info_term * np.maximum(dsim_term, FLOOR) * np.maximum(balance_term, FLOOR)  # eq. 11


def link_scores(probabilities: NDArray[np.float64], values: Vector) -> Vector:
    """Return the score of every link, (n_links,) float64 (eq. 12).

    Parameters
    ----------
    probabilities
        Chance of each destination cluster, (n_links, n_clusters); mass that leads to outliers is left out.
    values
        Value of the clusters, (n_clusters,).
    """
    scores: Vector = probabilities @ values  # eq. 12
    return scores
