"""URLs as key-value pairs: host, path segments by position, query arguments by name (Liu 2011, Fig. 3a)."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from urllib.parse import unquote, urlsplit

HOST = "host"
BARE = "?"
MAX_SEGMENTS = 12
MAX_ARGUMENTS = 16

KeyValues = dict[str, str]


def path_key(position: int) -> str:
    """Return the key of the path segment at a position, 0 for the first."""
    return f"p{position}"


def query_key(name: str) -> str:
    """Return the key of a query argument."""
    return f"?{name}"


@lru_cache(maxsize=8_192)
def key_values(url: str) -> KeyValues:
    """Return the key-value pairs of a URL, host first, then the path, then arguments by name; do not change.

    ``http://a.org/x/12/?q=z&p=3`` gives ``host: a.org, p0: x, p1: 12, ?p: 3, ?q: z``. The scheme, a slash at
    the end and the fragment do not count. An argument without ``=`` is the value of the key ``?``. Values are
    percent-decoded and keep their case; those of a repeated key are sorted and joined by a comma. Segments
    past 12 are one, arguments past 16 names are left out. A URL that cannot be split has no pairs. Cost
    O(length).

    References
    ----------
    Liu, Cai, Zhang and Zhang 2011, section 3.1; keys after Lei et al. 2010.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return {}
    segments = (
        [unquote(segment) for segment in parts.path.strip("/").split("/")] if parts.path.strip("/") else []
    )
    if len(segments) > MAX_SEGMENTS:
        segments = [*segments[:MAX_SEGMENTS], "/".join(segments[MAX_SEGMENTS:])]
    pairs = {HOST: parts.netloc.lower()}
    pairs.update((path_key(i), segment) for i, segment in enumerate(segments))
    return pairs | _arguments(parts.query)


def key_order(key: str) -> tuple[int, int, str]:
    """Return what sorts keys as they stand in a URL: host, path by position, arguments by name."""
    if key == HOST:
        return 0, 0, ""
    return (2, 0, key) if key.startswith("?") else (1, int(key[1:]), "")


def _arguments(query: str) -> KeyValues:
    values: dict[str, list[str]] = defaultdict(list)
    for piece in filter(None, query.split("&")):
        name, equals, value = piece.partition("=")
        values[query_key(unquote(name)) if equals else BARE].append(unquote(value if equals else name))
    return {key: ",".join(sorted(values[key])) for key in sorted(values)[:MAX_ARGUMENTS]}
