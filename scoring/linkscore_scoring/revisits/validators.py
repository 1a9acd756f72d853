"""What a site answers about a copy by which it says later that the page is as it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

FACT = "validators"
"""Name of the fact of a page, see `Companion.read`."""
_MOST_CHARS = 256
"""A bound: longer ones are not kept. Entity tags are digests as a rule, dates have 29 characters."""


class Validators(NamedTuple):
    """`ETag` and `Last-Modified` of an answer (RFC 9110, section 8.8), as they came; empty if none did."""

    etag: str = ""
    last_modified: str = ""


NOTHING_SAID = Validators()
"""Of an answer without either."""


def read_validators(headers: Sequence[tuple[str, str]]) -> Validators:
    """Return the validators among headers; names in upper or lower case.

    Examples
    --------
    >>> read_validators([("ETAG", '"a1"'), ("Server", "nginx")])
    Validators(etag='"a1"', last_modified='')
    """
    said = {name.lower(): value.strip() for name, value in headers if len(value) <= _MOST_CHARS}
    return Validators(said.get("etag", ""), said.get("last-modified", ""))
