"""Resource names, `crawls/{crawl}` and `crawls/{crawl}/sites/{site}`, and pages of sorted names."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from urllib.parse import quote, unquote

from linkscore_scoring.errors import InvalidInput

MAX_SITE_BYTES = 1_024
"""Longest name of a site: a bound; a host name has at most 253 characters (RFC 1035)."""

# Names on one page of a list, as the contract says.
MAX_BROWSE_SITES = 1_000  # sites of one answer on browse logs: a bound, as browse_log_service.proto says
DEFAULT_PAGE_SIZE = 100  # as the contract says (crawl_service.proto)
MAX_PAGE_SIZE = 1_000  # more is cut to it, as the contract says


def crawl_name(crawl: str) -> str:
    """Return the resource name of a crawl."""
    return f"crawls/{crawl}"


def site_name(crawl: str, site: str) -> str:
    """Return the resource name of a site; the site is percent-escaped."""
    return f"crawls/{crawl}/sites/{quote(site, safe='')}"


def parse_crawl(name: str, field: str = "crawl") -> str:
    """Return the crawl of a resource name.

    Raises
    ------
    InvalidInput
        If it is empty or of another form.
    """
    if not name:
        raise InvalidInput("is required, in the form crawls/{crawl}", field=field, reason="REQUIRED")
    collection, _, crawl = name.partition("/")
    if collection != "crawls" or not crawl or "/" in crawl:
        raise InvalidInput(f"must have the form crawls/{{crawl}}, got {name!r}", field=field)
    return crawl


def parse_site(name: str, field: str = "name") -> tuple[str, str]:
    """Return crawl and site of a resource name.

    Raises
    ------
    InvalidInput
        If it is empty or of another form.
    """
    parts = name.split("/")
    if len(parts) != 4 or parts[0] != "crawls" or parts[2] != "sites" or not parts[1] or not parts[3]:
        raise InvalidInput(f"must have the form crawls/{{crawl}}/sites/{{site}}, got {name!r}", field=field)
    return parts[1], unquote(parts[3])


def site_of(name: str, crawl: str, field: str) -> str:
    """Return the site that a host or a resource name stands for.

    Raises
    ------
    InvalidInput
        If it is missing, too long or of another crawl.
    """
    if not name:
        raise InvalidInput("is required", field=field, reason="REQUIRED")
    if len(name.encode()) > MAX_SITE_BYTES:
        raise InvalidInput(f"must be at most {MAX_SITE_BYTES} bytes", field=field)
    if "/" not in name:
        return name
    owner, site = parse_site(name, field)
    if owner != crawl:
        raise InvalidInput(f"must be a site of crawls/{crawl}, got {name!r}", field=field)
    return site


def page_of(names: Sequence[str], page_size: int, page_token: str) -> tuple[Sequence[str], str]:
    """Return one page of sorted names, and the token of the next: the last name given out, empty at the end.

    Raises
    ------
    InvalidInput
        If the page size is over 1,000.
    """
    if page_size > MAX_PAGE_SIZE:
        raise InvalidInput(f"must be at most {MAX_PAGE_SIZE}, got {page_size}", field="page_size")
    start = bisect_right(names, page_token) if page_token else 0
    page = names[start : start + (page_size or DEFAULT_PAGE_SIZE)]
    return page, page[-1] if start + len(page) < len(names) else ""
