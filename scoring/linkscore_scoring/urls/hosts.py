"""Hosts with letters outside of ASCII, as ``encode("idna")`` writes them, in time linear in their length.

The codec of the standard library takes quadratic time for each label, and looks at the length of a label only
afterwards: one host of 10,000 distinct ideographs takes 15 s.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, insort
from encodings.idna import nameprep

MAX_HOST_CHARS = 253
"""Longest host with letters outside of ASCII: no name in DNS is longer (RFC 1035, section 2.3.4)."""

MAX_LABEL_CHARS = 63
"""Longest part of a host between two dots, before and after encoding (RFC 1035, section 2.3.4)."""

# A backslash ends a host as a slash does (WHATWG URL, 4.4).
_AUTHORITY = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]{0,30}:[/\\]{2}|[/\\]{2})([^/\\?#]*)")
_DOTS = re.compile("[.\u3002\uff0e\uff61]")
# What urlsplit takes out before it looks for a host.
_DROPPED = str.maketrans("", "", "\t\n\r")
_STRIPPED = "".join(map(chr, range(33)))
# Parameters of Punycode (RFC 3492, section 5).
_BASE, _T_MIN, _T_MAX, _SKEW, _DAMP, _BIAS, _FIRST = 36, 1, 26, 38, 700, 72, 128
_DIGITS = "abcdefghijklmnopqrstuvwxyz0123456789"
# Characters that nameprep leaves alone, so far as they were met; Unicode has some 100,000 of them.
_left_alone: set[str] = set()


def with_ascii_host(url: str) -> str:
    """Return a URL with its host as DNS knows it; one whose host is ASCII stays as it is.

    Raises
    ------
    ValueError
        The host has letters outside of ASCII and is longer than `MAX_HOST_CHARS`, or is none by IDNA 2003.
    """
    if url.isascii():
        return url
    url = url.strip(_STRIPPED).translate(_DROPPED)
    authority = _AUTHORITY.match(url)
    if authority is None or authority[2].isascii():
        return url
    user, at, address = authority[2].rpartition("@")
    host, colon, port = address.partition(":")
    if len(host) > MAX_HOST_CHARS:
        raise ValueError(f"host of more than {MAX_HOST_CHARS} characters")
    if not (user + port).isascii():
        raise ValueError("user or port that is not ASCII")
    return f"{authority[1]}{user}{at}{ascii_host(host)}{colon}{port}{url[authority.end() :]}"


def ascii_host(host: str) -> str:
    """Return a host of at most `MAX_HOST_CHARS` as ``host.encode("idna")`` does.

    Raises
    ------
    ValueError
        A label is empty, too long, or not allowed by IDNA 2003.
    """
    if host.isascii():
        return host
    *labels, last = _DOTS.split(unicodedata.normalize("NFKC", host.lower()))
    return ".".join([*map(_ascii_label, labels), _ascii_label(last) if last else ""])


def _ascii_label(label: str) -> str:
    if not label.isascii() and len(label) <= MAX_LABEL_CHARS:
        label = label if _is_prepared(label) else nameprep(label)
        if label.startswith("xn--"):
            raise ValueError("label starts as an encoded one does")
        label = label if label.isascii() else f"xn--{punycode(label)}"
    if not 0 < len(label) <= MAX_LABEL_CHARS or not label.isascii():
        raise ValueError("label empty or too long")
    return label


def _is_prepared(label: str) -> bool:
    """Say whether nameprep would leave a label alone, without its 15 calls a character."""
    for char in set(label) - _left_alone:
        if (
            unicodedata.bidirectional(char) in {"R", "AL"}
            or unicodedata.combining(char)
            or _prepared(char) != char
        ):
            return False
        _left_alone.add(char)
    return unicodedata.is_normalized("NFKC", label)


def _prepared(char: str) -> str:
    try:
        return nameprep(char)
    except UnicodeError:
        return ""


def punycode(label: str) -> str:
    """Return ``label.encode("punycode")`` as text; cost O(n log n), that of the codec is O(n^2).

    Source: RFC 3492, section 6.3, with the steps between two insertions counted instead of walked.
    """
    basic = [char for char in label if char < "\x80"]
    places = [at for at, char in enumerate(label) if char < "\x80"]
    out = [*basic, "-"] if basic else []
    code, at, bias = _FIRST, 0, _BIAS
    for char, place in sorted((ord(char), at) for at, char in enumerate(label) if char >= "\x80"):
        before = bisect_left(places, place)
        delta = (char - code) * (len(places) + 1) + before - at
        out += _digits(delta, bias)
        insort(places, place)
        bias = _adapted(delta, len(places), is_first=len(places) == len(basic) + 1)
        code, at = char, before + 1
    return "".join(out)


def _digits(delta: int, bias: int) -> list[str]:
    """Return a number in the variable-length form of Punycode."""
    found, k = [], _BASE
    while delta >= (least := min(max(k - bias, _T_MIN), _T_MAX)):
        delta, digit = divmod(delta - least, _BASE - least)
        found.append(_DIGITS[least + digit])
        k += _BASE
    return [*found, _DIGITS[delta]]


def _adapted(delta: int, n_points: int, *, is_first: bool) -> int:
    """Return the next bias (RFC 3492, section 6.1)."""
    delta = delta // _DAMP if is_first else delta // 2
    delta += delta // n_points
    k = 0
    while delta > ((_BASE - _T_MIN) * _T_MAX) // 2:
        delta //= _BASE - _T_MIN
        k += _BASE
    return k + (_BASE - _T_MIN + 1) * delta // (delta + _SKEW)
