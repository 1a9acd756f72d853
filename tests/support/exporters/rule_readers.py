"""Readers of rule files, each as the crawler it is for reads them: which URLs are followed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from lxml import etree

from linkscore_scoring.exporters import RuleFile

Follows = Callable[[str], bool]
_BEANS = {"b": "http://www.springframework.org/schema/beans"}


def nutch(file: RuleFile) -> Follows:
    """The first line whose expression is found decides; no line: not followed."""
    lines = [line for line in file.text.split("\n") if line and line[0] != "#"]
    assert all(line[0] in "+-" for line in lines)
    rules = [(line[0] == "+", re.compile(line[1:])) for line in lines]
    return lambda url: next((sign for sign, found in rules if found.search(url)), False)


def heritrix(file: RuleFile) -> Follows:
    """Of the rules whose expression fits the whole URL the last one decides; none: the scope before does."""
    root = etree.fromstring(file.text.encode())
    rules = []
    accepts = "ACCEPT" in file.text
    (sequence,) = root.xpath("b:bean[@id='linkscoreRules']", namespaces=_BEANS)
    assert sequence.get("class") == "org.archive.modules.deciderules.DecideRuleSequence"
    for bean in sequence.xpath("b:property[@name='rules']/b:list/b:bean", namespaces=_BEANS):
        assert bean.get("class") == "org.archive.modules.deciderules.MatchesListRegexDecideRule"
        (decision,) = bean.xpath("b:property[@name='decision']/@value", namespaces=_BEANS)
        values = bean.xpath("b:property[@name='regexList']/b:list/b:value/text()", namespaces=_BEANS)
        rules += [(decision == "ACCEPT", re.compile(value)) for value in values]
    return lambda url: next((sign for sign, fits in reversed(rules) if fits.fullmatch(url)), not accepts)


def browsertrix(file: RuleFile) -> Follows:
    """A URL is in scope if one of `include` is found in it, or there are none, and none of `exclude`."""
    lines = [line for line in file.text.split("\n") if line and not line.lstrip().startswith("#")]
    assert lines[0] == "seeds:"
    assert ("scopeType: custom" in lines) == ("include:" in lines)
    rules: dict[str, list[re.Pattern[str]]] = {"include": [], "exclude": []}
    name = ""
    for line in lines:
        if not line.startswith(" "):
            name = line.removesuffix(":")
        elif name in rules:
            rules[name].append(re.compile(json.loads(line.removeprefix("  - "))))

    def follows(url: str) -> bool:
        included, excluded = (any(rule.search(url) for rule in rules[name]) for name in rules)
        return (included or not rules["include"]) and not excluded

    return follows


def scrapy_module(file: RuleFile) -> dict[str, Any]:
    """Import the module."""
    module: dict[str, Any] = {}
    exec(compile(file.text, file.name, "exec"), module)
    return module


def scrapy(file: RuleFile) -> Follows:
    """A link is followed if one rule extracts it."""
    from scrapy.http import HtmlResponse

    rules = scrapy_module(file)["RULES"]

    def follows(url: str) -> bool:
        body = etree.tostring(etree.Element("a", href=url))
        page = HtmlResponse("http://forum.example/", body=body, encoding="utf-8")
        return any(rule.link_extractor.extract_links(page) for rule in rules)

    return follows


READERS = {
    "nutch": nutch,
    "heritrix": heritrix,
    "browsertrix": browsertrix,
    "scrapy": scrapy,
}
