"""Resource names: `crawls/{crawl}` and `crawls/{crawl}/sites/{site}`."""

from __future__ import annotations

from urllib.parse import quote, unquote

from linkscore_scoring.errors import InvalidInput


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
