"""Numbers, places and names in the words a person reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from linkscore.v1 import (
    common_pb2,
    policy_pb2,
    site_model_service_pb2,
)

STAGES = {
    common_pb2.SITE_STAGE_UNSPECIFIED: "unknown",
    common_pb2.SITE_STAGE_SAMPLING: "sampling",
    common_pb2.SITE_STAGE_LEARNING: "learning",
    common_pb2.SITE_STAGE_READY: "learned",
}
TRAPS = {
    site_model_service_pb2.TRAP_KIND_COPIES: "copies of pages seen",
    site_model_service_pb2.TRAP_KIND_ENDLESS: "endless pages of the same kind",
    site_model_service_pb2.TRAP_KIND_FADING: "fading: it once brought something",
}
_SHOWN_CHARS = 400
"""A bound: characters of a URL, a tag path or an anchor text that are shown; the rest is cut, and said."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def number(value: float) -> str:
    """Return a count with thousands, three digits if it is large."""
    if value >= 1_000_000:
        return f"{value / 1_000_000:.3g} M"
    return f"{value:,.0f}"


def share(value: float) -> str:
    """Return a value in [0, 1] as per cent."""
    percent = 100.0 * value
    return f"{percent:.1f} %" if 0.0 < percent < 1.0 else f"{percent:.0f} %"


def score(value: float) -> str:
    """Return a score or a reward with three digits after the point."""
    return f"{value:.3f}"


def shown(text: str, most: int = _SHOWN_CHARS) -> str:
    """Return text of a page fit to be looked at: no control or direction characters, and not too long.

    Direction marks could make a URL read as another; templates escape the rest.

    Examples
    --------
    >>> shown("a\\u202egnp.exe"), len(shown("x" * 10_000)) < 450
    ('a\\ufffdgnp.exe', True)
    """
    cut = text[:most]
    clean = _CONTROL.sub("\ufffd", cut)
    return clean if len(text) <= most else f"{clean}… ({len(text):,} characters)"


def place(tag_path: str) -> str:
    """Return what says most of a tag path: its last element, and the nearest around it that has a class."""
    *around, last = (step.removesuffix("[]") for step in tag_path.split("/"))
    named = "" if "[" in last else next((step for step in reversed(around) if "[" in step), "")
    return shown(f"{named} {last}".strip(), 60) or "unknown place"


def is_web(url: str) -> bool:
    """Say whether a URL may stand in a link: http and https only."""
    return url.startswith(("http://", "https://"))


def linked(url: str) -> str:
    """Return a URL as it may stand in a link: what is no ASCII is percent-encoded, so that nothing can hide.

    Examples
    --------
    >>> linked("http://a.org/\u202egnp?q=ä%20b")
    'http://a.org/%E2%80%AEgnp?q=%C3%A4%20b'
    """
    return quote(url, safe="%/:?#[]@!$&'()*+,;=~")


def policy_name(spec: policy_pb2.PolicySpec) -> str:
    """Return the name of a policy as configured; unset means harvest."""
    field = spec.WhichOneof(policy_pb2.PolicySpec.DESCRIPTOR.oneofs[0].name)
    return spec.external.name if field == "external" else field or "harvest"


def site_url(crawl: str, site: str, view: str = "map") -> str:
    return f"/crawls/{crawl}/sites/{quote(site, safe='')}/{view}"


FILTERS: Mapping[str, Any] = {
    "number": number,
    "share": share,
    "score": score,
    "shown": shown,
    "place": place,
    "linked": linked,
}
