"""Which records of a log are no visits of a page by a person. Every rule is counted under its name."""

from __future__ import annotations

from collections.abc import Sequence

import re2

from linkscore_scoring.errors import InvalidInput
from linkscore_server.browse_logs.visits import text

KEPT = ""
RULES = {
    "bad_line": "not readable, or without time or client",
    "method": "not a GET",
    "status": "answered with 400 or more",
    "bot": "user agent of a program",
    "asset": "content type or extension of something other than a page",
    "bad_url": "no absolute http or https URL",
    "host": "host not among those asked for",
    "repeat": "same client, page and day as another record",
}
"""Name and meaning of every reason to leave a record out, in the order in which they are tried."""

BOT_AGENTS = (
    r"bot\b|bot[/;_-]|crawl|spider|slurp|archiver|scrapy|curl/|wget|python-|java/|libwww|httpclient|http_client|"
    r"okhttp|go-http|axios|node-fetch|headless|phantomjs|lighthouse|feedfetcher|feedburner|feedparser|feedly|"
    r"tiny tiny rss|rss|monitor|uptime|pingdom|validator|facebookexternalhit|preview|mediapartners"
)
"""Regular expression (RE2) found in the user agents of programs, whatever their case."""

ASSET_EXTENSIONS = (
    r"7z|atom|avi|avif|bin|bmp|bz2|css|dmg|eot|exe|flac|flv|gif|gz|ico|iso|jar|"
    r"jpeg|jpg|js|json|map|mjs|mkv|mov|mp3|mp4|mpeg|mpg|msi|ogg|ogv|otf|png|"
    r"rar|rss|svg|swf|tar|tgz|tif|tiff|ttf|txt|wasm|wav|webm|webmanifest|webp|"
    r"woff|woff2|xml|xsl|xz|zip"
)
"""Extensions of paths that are no pages."""

_PAGE_TYPES = ("text/html", "application/xhtml+xml")


def rule_sql(hosts: Sequence[str] = (), *, bots: str = BOT_AGENTS) -> str:
    """Return the expression that names the rule by which a record is left out, `KEPT` if none is.

    It reads the columns of `formats.base.record_sql`, knows neither sites nor repeats, and costs a few
    regular expressions a record.

    Parameters
    ----------
    hosts
        Hosts to keep, with their port if it is not the usual one; none keeps all.
    bots
        Regular expression of user agents to leave out; empty leaves none out.

    Raises
    ------
    InvalidInput
        If `bots` is no regular expression of RE2, which DuckDB uses.
    """
    rules = [
        ("bad_line", "bad"),
        ("method", "upper(method) <> 'GET'"),
        ("status", "status >= 400"),
        ("bot", f"regexp_matches(user_agent, {text('(?i)' + _checked(bots))})" if bots else "false"),
        ("asset", f"{_other_type()} OR {_asset_path()}"),
        ("bad_url", "url IS NULL OR NOT regexp_matches(url, '(?i)^https?://[^/?#]')"),
        (
            "host",
            f"{_host()} NOT IN ({', '.join(text(host.lower()) for host in hosts)})" if hosts else "false",
        ),
    ]
    cases = " ".join(f"WHEN {condition} THEN {text(name)}" for name, condition in rules)
    return f"CASE {cases} ELSE {text(KEPT)} END"


def _other_type() -> str:
    essence = "lower(trim(split_part(content_type, ';', 1)))"
    return f"{essence} NOT IN ({', '.join(text(kind) for kind in _PAGE_TYPES)})"


def _asset_path() -> str:
    """Return the condition that the path, between host and query, ends in an asset's extension."""
    pattern = rf"(?i)^[^?#]*[^/?#]/[^?#]*\.({ASSET_EXTENSIONS})([?#]|$)"
    return f"regexp_matches(url, {text(pattern)})"


def _host() -> str:
    return "lower(regexp_extract(url, '(?i)^https?://(?:[^/?#@]*@)?([^/?#]*)', 1))"


def _checked(pattern: str) -> str:
    try:
        re2.compile(pattern)
    except re2.error as exc:
        raise InvalidInput(
            f"must be a regular expression of RE2 ({exc}), got {pattern!r:.100}", field="bots"
        ) from exc
    return pattern
