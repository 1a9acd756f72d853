"""Libraries that some crawls need: imported when one is made or opened, and never on the event loop."""

from __future__ import annotations

from functools import cache
from typing import Any

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.features.types import Words
from linkscore_scoring.features.words import languages
from linkscore_scoring.policies.base import with_parts
from linkscore_scoring.policies.registry import policy_class


def load_libraries(config: CrawlConfig) -> None:
    """Import what the crawl would import while it serves, which takes seconds; blocks."""
    for choice in (config.policy, *config.extra_policies):
        for kind, params in with_parts(policy_class(choice.name), choice.checked()):
            kind.load_libraries(params)
    load_for_reading(config.scope, config.words)


def load_for_reading(scope: str, words: Words) -> None:
    """Import what reading pages of such a crawl would import; blocks."""
    if Words.LANGUAGE in words:
        languages()
    if scope == "domain":
        _suffixes()


def registrable_domain(host: str) -> str:
    """Return the registrable domain of a host, or the host itself if it is a suffix or an address; slow once.

    Goes by the public suffix list that comes with tldextract: nothing is fetched.

    Examples
    --------
    >>> [registrable_domain(host) for host in ("a.b.co.uk", "me.github.io", "wiki.corp.internal")]
    ['b.co.uk', 'me.github.io', 'corp.internal']
    """
    found = _suffixes()(host)
    if found.suffix or found.ipv4 or found.ipv6:
        return str(found.top_domain_under_public_suffix or host)
    labels = host.partition(":")[0].rstrip(".").split(".")
    return ".".join(labels[-2:]) if len(labels) > 1 else host


@cache
def _suffixes() -> Any:
    import tldextract  # a third of all imports of the server: scope `domain` and redirects pay for it

    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
