"""What the head of a page says about its links: base, canonical URL, nofollow."""

from __future__ import annotations

import re
from dataclasses import dataclass

from linkscore_scoring.features.markup import attributes_of

_HEAD_TAG = re.compile(r"<(base|link|meta)( [^>]*)")


@dataclass(frozen=True, slots=True)
class Head:
    """``<base href>``, ``<link rel=canonical>`` (raw, empty if none), and ``<meta name=robots>`` says nofollow."""

    base: str = ""
    canonical: str = ""
    nofollow: bool = False


def read_head(markup: str) -> Head:
    """Read the serialised head of a page; the first base and the first canonical link count."""
    base = canonical = ""
    nofollow = False
    for tag, raw in _HEAD_TAG.findall(markup):
        found = attributes_of(raw)
        if tag == "base":
            base = base or found.get("href", "")
        elif tag == "link":
            canonical = canonical or _canonical(found)
        else:
            nofollow = nofollow or _says_nofollow(found)
    return Head(base.strip(), canonical.strip(), nofollow)


def _canonical(link: dict[str, str]) -> str:
    return link.get("href", "") if "canonical" in link.get("rel", "").lower().split() else ""


def _says_nofollow(meta: dict[str, str]) -> bool:
    directives = set(meta.get("content", "").lower().replace(",", " ").split())
    return meta.get("name", "").strip().lower() == "robots" and not directives.isdisjoint({"nofollow", "none"})
