"""Registrable domains, by the suffix list that comes with tldextract: nothing is fetched or cached."""

from __future__ import annotations

from functools import cache
from typing import Any


def registrable_domain(host: str) -> str:
    """Return the registrable domain of a host, or the host itself; the first call is slow."""
    return str(_suffixes()(host).top_domain_under_public_suffix or host)


@cache
def _suffixes() -> Any:
    import tldextract  # a third of all imports of the server: only crawls of scope `domain` pay for it

    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
