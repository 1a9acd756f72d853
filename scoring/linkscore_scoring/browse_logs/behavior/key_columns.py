"""The key-value pairs of a batch of URLs as columns of numbers, and how values are written in a pattern."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.behavior.key_values import KeyValues, key_order

Codes = NDArray[np.int64]

ABSENT, ANY, NUMBER = "-", "*", "#"
"""Labels of a key a URL does not have, of any value, and of any number; a value itself is ``=value``."""

NO_VALUE = -1
MAX_KEYS = 64


def label_of(value: str) -> list[str]:
    """Return the labels that fit a value, the most telling first."""
    return [f"={value}", NUMBER, ANY] if is_number(value) else [f"={value}", ANY]


def is_number(value: str) -> bool:
    """Say whether a value is a run of ASCII digits."""
    return value.isascii() and value.isdecimal()


class KeyColumns:
    """One column per key, one row per URL; at most the 64 keys that most URLs have, path before query.

    Attributes
    ----------
    keys
        Names, as they stand in a URL.
    codes
        (n_keys, n_urls) int64: index into `values`, `NO_VALUE` without the key.
    values
        Distinct values of each key.
    numeric
        Which of them are numbers, (n_values,) bool each.
    """

    def __init__(self, rows: Sequence[KeyValues]) -> None:
        self.n_urls = len(rows)
        uses: dict[str, int] = {}
        for row in rows:
            for key in row:
                uses[key] = uses.get(key, 0) + 1
        kept = sorted(uses, key=lambda key: (-uses[key], key_order(key)))[:MAX_KEYS]
        self.keys = sorted(kept, key=key_order)
        self.codes = np.full((len(self.keys), len(rows)), NO_VALUE, dtype=np.int64)
        self.values: list[list[str]] = []
        for column, key in zip(self.codes, self.keys, strict=True):
            known: dict[str, int] = {}
            column[:] = [known.setdefault(row[key], len(known)) if key in row else NO_VALUE for row in rows]
            self.values.append(list(known))
        self.numeric = [np.array([is_number(v) for v in values], dtype=np.bool_) for values in self.values]

    def by_entropy(self, rows: Codes, keys: Sequence[int]) -> list[int]:
        """Return the keys by the entropy of their values among some URLs, least first; ties as in a URL.

        H(k) = - sum_v n_v / N ln(n_v / N), URLs without the key being a value of their own.
        """
        return sorted(keys, key=lambda key: (round(self.entropy(rows, key), 12), key))

    def entropy(self, rows: Codes, key: int) -> float:
        """Return H of one key in nats."""
        counts = np.bincount(self.codes[key, rows] + 1)
        shares = counts[counts > 0] / len(rows)
        return float(-(shares * np.log(shares)).sum())
