"""News prefixes as regular expressions."""

from __future__ import annotations

import re

from linkscore_scoring.browse_logs.news.model import NewsPrefix
from linkscore_scoring.types import UrlRule

_SPECIAL = re.compile(r"[.^$*+?()\[\]{}|\\]")


def rule_of(prefix: NewsPrefix) -> UrlRule:
    """Return the rule of a prefix: RE2, anchored at the start, of either scheme.

    The ``/`` or ``?`` at the end of a prefix is part of it, so that ``/news/`` does not fit ``/newsletter``.
    """
    text = _SPECIAL.sub(lambda match: f"\\{match[0]}", prefix.text)
    return UrlRule(
        kind="news",
        pattern=f"^https?://{text}",
        confidence=prefix.at_least,
        matches=round(prefix.share * prefix.pages),
        total=prefix.pages,
        example=prefix.example,
    )
