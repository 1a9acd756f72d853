"""Heritrix 3: a Spring bean with a sequence of decide rules."""

from __future__ import annotations

from collections.abc import Sequence

from lxml import etree

from linkscore_scoring.exporters.allowed import (
    PortableRule,
    filters,
    heading,
    rule_comment,
    url_of_site_pattern,
)
from linkscore_scoring.exporters.base import RuleFile, SiteRules

NAME = "heritrix"
BEAN = "linkscoreRules"

_BEANS = "http://www.springframework.org/schema/beans"
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_RULES = "org.archive.modules.deciderules."


def export(site: SiteRules) -> RuleFile:
    """Return a bean that rejects the site, then accepts what fits: of decide rules the last one counts.

    Last it rejects what is denied; that alone if no rule says what to follow.

    Raises
    ------
    NoRules
        If there is no URL rule.
    """
    found = filters(site)
    root = etree.Element(f"{{{_BEANS}}}beans", nsmap={None: _BEANS, "xsi": _XSI})
    root.set(f"{{{_XSI}}}schemaLocation", f"{_BEANS} {_BEANS}/spring-beans-3.0.xsd")
    for line in heading(site):
        root.append(_comment(line))
    rules = _list(_bean(root, "DecideRuleSequence", BEAN), "rules")
    if found.allowed:
        _matching(rules, "REJECT", [f"{url_of_site_pattern(site)}.*"])
        _written(rules, "ACCEPT", found.allowed)
    if found.denied:
        _written(rules, "REJECT", found.denied)
    text = etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True).decode()
    return RuleFile("linkscore-decide-rules.xml", "application/xml", text, tuple(found.notes))


def _written(rules: etree._Element, decision: str, entries: Sequence[PortableRule]) -> None:
    for entry in entries:
        rules.append(_comment(rule_comment(entry.rule)))
    _matching(rules, decision, [entry.whole for entry in entries])


def _matching(rules: etree._Element, decision: str, patterns: Sequence[str]) -> None:
    bean = _bean(rules, "MatchesListRegexDecideRule")
    etree.SubElement(bean, f"{{{_BEANS}}}property", name="decision", value=decision)
    entries = _list(bean, "regexList")
    for pattern in patterns:
        etree.SubElement(entries, f"{{{_BEANS}}}value").text = pattern


def _bean(parent: etree._Element, kind: str, name: str = "") -> etree._Element:
    more = {"id": name} if name else {}
    return etree.SubElement(parent, f"{{{_BEANS}}}bean", **more, attrib={"class": _RULES + kind})


def _list(bean: etree._Element, name: str) -> etree._Element:
    return etree.SubElement(etree.SubElement(bean, f"{{{_BEANS}}}property", name=name), f"{{{_BEANS}}}list")


def _comment(text: str) -> etree._Element:
    """Return a comment; two hyphens in a row may not stand in one."""
    return etree.Comment(f" {text.replace('-', chr(92) + 'x2d') if '--' in text else text} ")
