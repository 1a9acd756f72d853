"""Which values of a key are worth a pattern of their own (Lei 2010: salient), and which stand for any."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.behavior.key_columns import (
    ABSENT,
    ANY,
    NO_VALUE,
    NUMBER,
    Codes,
    KeyColumns,
)

_FEW, _EVEN_SHARE, _LEAST_SHARE = 5, 0.05, 0.01
_MANY, _MANY_SHARE = 10, 0.005


def salient(counts: Codes, n_urls: int) -> NDArray[np.bool_]:
    """Return which values of a key stay as they are, (n_values,) bool.

    Values are sorted by frequency and cut where its logarithm drops most; those above the drop stay if at
    least two URLs and 1 % of them have the value. Values that are all equally frequent stay if there are at
    most five and each has 5 % of the URLs; a single value stays.

    Parameters
    ----------
    counts
        URLs with each value, (n_values,), >= 1; URLs without the key are not counted.
    n_urls
        URLs of the group, those without the key included.

    References
    ----------
    Lei et al. 2010 (from memory); the rules for equal frequencies and for small ones are ours.
    """
    if len(counts) <= 1:
        return np.ones(len(counts), dtype=np.bool_)
    if counts.min() == counts.max():
        stay = len(counts) <= _FEW and counts[0] >= _EVEN_SHARE * n_urls
        return np.full(len(counts), stay, dtype=np.bool_)
    order = np.argsort(-counts, kind="stable")
    drops = -np.diff(np.log(counts[order]))
    stays = np.zeros(len(counts), dtype=np.bool_)
    stays[order[: int(np.argmax(drops)) + 1]] = True
    return np.asarray(stays & (counts >= max(2.0, _LEAST_SHARE * counts.sum())), dtype=np.bool_)


def common(counts: Codes, numeric: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which values of a key stay as they are, (n_values,) bool: words that many URLs share.

    A value stays if ten URLs and half a percent of them have it and it is no number; a single value stays.
    Ours: it keeps the sections of a site apart where the largest drop of `salient` joins all but the largest,
    and lets ids and years be any number. Chosen on the first 20 days of three logs.
    """
    if len(counts) <= 1:
        return np.ones(len(counts), dtype=np.bool_)
    return np.asarray((counts >= max(_MANY, _MANY_SHARE * counts.sum())) & ~numeric, dtype=np.bool_)


def generalised(columns: KeyColumns, key: int, rows: Codes, *, by_drop: bool) -> NDArray[np.str_]:
    """Return the label of a key for each of some URLs, (n_rows,): a value that stays, a wildcard, or absent.

    `by_drop` is the paper's way: values as `salient` says, and one wildcard for numbers and words alike.
    """
    codes = columns.codes[key, rows]
    counts = np.bincount(codes[codes != NO_VALUE], minlength=len(columns.values[key]))
    shown, numeric = np.flatnonzero(counts), columns.numeric[key]
    stays = shown[salient(counts[shown], len(rows)) if by_drop else common(counts[shown], numeric[shown])]
    labels = np.where(numeric & (not by_drop), NUMBER, ANY).astype(object)
    for value in stays.tolist():
        labels[value] = f"={columns.values[key][value]}"
    return np.asarray(np.append(labels, ABSENT)[codes], dtype=np.str_)
