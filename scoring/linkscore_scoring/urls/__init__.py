"""URLs: their identity, hrefs of a page resolved, patterns of the URLs of a site, and session ids in them."""

from linkscore_scoring.urls.hosts import MAX_HOST_CHARS, MAX_LABEL_CHARS, ascii_host
from linkscore_scoring.urls.identity import MAX_URL_CHARS, host_of, identity, validate_url
from linkscore_scoring.urls.pattern_tree import UrlPatternParams, UrlPatterns, url_tokens
from linkscore_scoring.urls.resolve import UrlCache, UrlResolver
from linkscore_scoring.urls.session_ids import SessionIds

__all__ = [
    "MAX_HOST_CHARS",
    "MAX_LABEL_CHARS",
    "MAX_URL_CHARS",
    "SessionIds",
    "UrlCache",
    "UrlPatternParams",
    "UrlPatterns",
    "UrlResolver",
    "ascii_host",
    "host_of",
    "identity",
    "url_tokens",
    "validate_url",
]
