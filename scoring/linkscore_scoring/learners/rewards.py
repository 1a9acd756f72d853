"""What a fetched page is worth when nobody says so: text of its own."""

from __future__ import annotations

from linkscore_scoring.site.texts import HALF_CHARS as HALF_CHARS


def text_reward(own_chars: float, *, half_chars: float = HALF_CHARS) -> float:
    """Return x / (x + half_chars), x = characters of text that belong to the page, at least 0.

    Examples
    --------
    >>> [text_reward(chars) for chars in (-5, 0, 400, 1_200)]
    [0.0, 0.0, 0.5, 0.75]
    """
    x = max(0.0, own_chars)
    return x / (x + half_chars)
