"""Prices and dates of structured data as a number that changes with them: a page of a new price has changed.

Read are JSON-LD and microdata, and of both only what says of the thing itself that it changed. Most of the
rest is furniture: counters of visits, ratings, related things, the time of a build.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

FACT = "structured"
"""Name of the fact of a page, see `Companion.read`."""
_NAMES = rb"price|lowPrice|highPrice|availability|startDate|endDate|eventStatus|datePublished"
"""Properties of schema.org that are read."""
_MOST_BYTES = 200
"""A bound: bytes of a value, and of the tag that has it."""
_MOST_VALUES = 256
"""A bound: values of a page, the first ones; a list has one or two of each product."""
_JSON_BYTES = 262_144
"""A bound: bytes of JSON-LD that are looked through, in all blocks of a page together."""
_JSON_START, _JSON_END = b"application/ld+json", b"</script"
_JSON = re.compile(rb'"(%s)"\s{0,9}:\s{0,9}("[^"]{0,%d}"|[-\d.]{1,40})' % (_NAMES, _MOST_BYTES))
_PROPERTY = b"itemprop="
_MICRODATA = re.compile(
    rb"""itemprop=["']?(%s)["'\s>][^<>]{0,%d}""" % (_NAMES, _MOST_BYTES) + rb">?[^<>]{0,%d}" % _MOST_BYTES
)


def structured_mark(body: bytes) -> int:
    """Return 8 bits that tell the prices and dates of a page from others, 0 if it has none; O(bytes).

    Parameters
    ----------
    body
        Of a page, unpacked.

    Examples
    --------
    >>> page = b'<script type="application/ld+json">{"offers": {"price": "%s", "ratingCount": %d}}</script>'
    >>> mark = structured_mark(page % (b"9.99", 1))
    >>> mark == structured_mark(page % (b"9.99", 2)), mark == structured_mark(page % (b"8.99", 1))
    (True, False)
    """
    found = [*_json_values(body), *_microdata_values(body)]
    return zlib.crc32(b"\n".join(found)) % 0xFF + 1 if found else 0


def _json_values(body: bytes) -> Iterator[bytes]:
    left, at, many = _JSON_BYTES, body.find(_JSON_START), _MOST_VALUES
    while at >= 0 and left > 0 and many > 0:
        end = body.find(_JSON_END, at, at + left)
        end = at + left if end < 0 else end
        for each in _JSON.finditer(body, at, end):
            yield each[0]
            many -= 1
            if not many:
                return
        left -= end - at
        at = body.find(_JSON_START, end)


def _microdata_values(body: bytes) -> Iterator[bytes]:
    at = body.find(_PROPERTY)
    for _ in range(_MOST_VALUES):
        if at < 0:
            return
        found = _MICRODATA.match(body, at)
        if found is not None:
            yield found[0]
        at = body.find(_PROPERTY, at + len(_PROPERTY))
