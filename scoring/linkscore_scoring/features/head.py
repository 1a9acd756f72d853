"""What the head of a page says about its links: base, canonical URL, nofollow."""

from __future__ import annotations

from dataclasses import dataclass

from lxml import etree


@dataclass(frozen=True, slots=True)
class Head:
    """``<base href>`` and ``<link rel=canonical>``, raw, empty if none; whether robots are told nofollow."""

    base: str = ""
    canonical: str = ""
    nofollow: bool = False


def read_head(root: etree._Element) -> Head:
    """Read a page, as parsed; the first base and the first canonical link count, wherever they stand."""
    base = canonical = ""
    nofollow = False
    for element in root.iter("base", "link", "meta"):
        tag = element.tag
        if tag == "base":
            base = base or element.get("href", "")
        elif tag == "link":
            canonical = canonical or _canonical(element)
        else:
            nofollow = nofollow or _says_nofollow(element)
    return Head(base.strip(), canonical.strip(), nofollow)


def _canonical(link: etree._Element) -> str:
    rel = link.get("rel", "").lower()
    return link.get("href", "") if "canonical" in rel.split() else ""


def _says_nofollow(meta: etree._Element) -> bool:
    if meta.get("name", "").strip().lower() != "robots":
        return False
    directives = set(meta.get("content", "").lower().replace(",", " ").split())
    return not directives.isdisjoint({"nofollow", "none"})
