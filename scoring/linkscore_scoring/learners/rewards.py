"""What a fetched page is worth when nobody says so: text of its own."""

from __future__ import annotations

HALF_CHARS = 400.0
"""Characters of own text that are worth a reward of 0.5, > 0 (ADR 6); chosen, not measured."""


def text_reward(own_chars: float, *, half_chars: float = HALF_CHARS) -> float:
    """Return x / (x + half_chars), x = characters of text that belong to the page, at least 0.

    >>> [text_reward(chars) for chars in (-5, 0, 400, 1_200)]
    [0.0, 0.0, 0.5, 0.75]
    """
    x = max(0.0, own_chars)
    return x / (x + half_chars)
