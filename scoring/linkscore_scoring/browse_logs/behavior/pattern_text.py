"""A URL pattern in words that people read, and as a regular expression that other tools obey."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import permutations

from linkscore_scoring.browse_logs.behavior.key_values import ABSENT, BARE, HOST, NUMBER, path_key

_MAX_SHUFFLED = 3
"""A bound: arguments whose orders are all written out, 3! of them; one more would be 24."""

_NEVER_ESCAPED, _NEVER_PLAIN = "-._~", "/?#&%"


def text_of(pattern: Mapping[str, str]) -> str:
    """Return a pattern as people write it: ``a.org/tag/*``, ``a.org/show.php?t=#``; ``**`` is any rest.

    Parameters
    ----------
    pattern
        Label of each key that is fixed, see `key_values.label_of`.

    Examples
    --------
    >>> text_of({"host": "=a.org", "p0": "=tag", "p1": "*", "p2": "-"})
    'a.org/tag/*'
    """
    segments, rest = _path(pattern)
    path = "".join(f"/{_word(label)}" for label in segments) + ("/**" if rest else "")
    arguments = [
        f"{key[1:]}={_word(label)}" if key != BARE else _word(label) for key, label in _query(pattern)
    ]
    return _word(pattern.get(HOST, "*")) + (path or "/") + ("?" + "&".join(arguments) if arguments else "")


def regex_of(pattern: Mapping[str, str]) -> str:
    """Return the RE2 expression of a pattern, anchored at both ends, for raw and canonical URLs.

    Arguments may stand in any order if there are up to three, else sorted; a pattern that names arguments
    allows no others, one that only says which are absent allows none, and one that says nothing any.

    Examples
    --------
    >>> regex_of({"host": "=a.org", "p0": "=tag", "p1": "#", "p2": "-", "?page": "-"})
    '^https?://a\\\\.org/tag/[0-9]+/?\\\\??$'
    """
    segments, rest = _path(pattern)
    host = _value(pattern.get(HOST, "*"), "[^/?#]+")
    path = "".join(f"/{_value(label, '[^/?#]+')}" for label in segments)
    return f"^https?://{host}{path}{'(?:/[^?#]*)?' if rest else '/?'}{_arguments(pattern)}$"


def _path(pattern: Mapping[str, str]) -> tuple[list[str], bool]:
    """Return the label of each segment, any for those not fixed, and whether any more may follow."""
    fixed = [int(key[1:]) for key, label in pattern.items() if key.startswith("p") and label != ABSENT]
    n = max(fixed, default=-1) + 1
    ends = pattern.get(path_key(n)) == ABSENT
    return [pattern.get(path_key(i), "*") for i in range(n)], not ends


def _query(pattern: Mapping[str, str]) -> list[tuple[str, str]]:
    return sorted((k, label) for k, label in pattern.items() if k.startswith("?") and label != ABSENT)


def _arguments(pattern: Mapping[str, str]) -> str:
    present = [_argument(key, label) for key, label in _query(pattern)]
    if present:
        shuffled = len(present) <= _MAX_SHUFFLED
        orders = permutations(present) if shuffled else [tuple(present)]
        return rf"\?(?:{'|'.join('&'.join(order) for order in orders)})"
    return r"\??" if any(key.startswith("?") for key in pattern) else r"(?:\?[^#]*)?"


def _argument(key: str, label: str) -> str:
    value = _value(label, "[^&#]*")
    return value if key == BARE else f"{_literal(key[1:])}={value}"


def _value(label: str, wildcard: str) -> str:
    if label.startswith("="):
        return _literal(label[1:])
    return "[0-9]+" if label == NUMBER else wildcard


def _literal(text: str) -> str:
    """Return what fits a decoded value as it may stand in a URL: every character as it is, or escaped."""
    return "".join(map(_character, text))


def _character(char: str) -> str:
    if (char.isalnum() and char.isascii()) or char in _NEVER_ESCAPED:
        return re.escape(char)
    escaped = "".join(f"%{_digit(byte >> 4)}{_digit(byte & 15)}" for byte in char.encode())
    plain = {" ": r"\+|"}.get(char, "" if char in _NEVER_PLAIN else f"{re.escape(char)}|")
    return f"(?:{plain}{escaped})"


def _digit(value: int) -> str:
    return f"{value:X}" if value < 10 else f"[{value:X}{value:x}]"


def _word(label: str) -> str:
    return label[1:] if label.startswith("=") else label
