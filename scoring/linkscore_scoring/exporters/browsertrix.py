"""Browsertrix Crawler: seeds and scope for its YAML configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from linkscore_scoring.exporters.allowed import PortableRule, filters, heading, rule_comment
from linkscore_scoring.exporters.base import RuleFile, SiteRules

NAME = "browsertrix"


def export(site: SiteRules) -> RuleFile:
    """Return a configuration of scope ``custom``: a URL that fits one expression is in scope, no other is.

    Without rules that say what to follow the scope is what Browsertrix makes of the seeds, but for what is
    denied.

    Raises
    ------
    NoRules
        If there is no URL rule.
    """
    found = filters(site)
    lines = [f"# {line}" for line in heading(site)]
    lines += ["seeds:", *(f"  - url: {_scalar(url)}" for url in site.seeds)]
    if found.allowed:
        lines += ["scopeType: custom", *_expressions("include", found.allowed)]
    if found.denied:
        lines += _expressions("exclude", found.denied)
    return RuleFile("browsertrix.yaml", "application/yaml", "\n".join(lines) + "\n", tuple(found.notes))


def _expressions(name: str, rules: Sequence[PortableRule]) -> Iterator[str]:
    yield f"{name}:"
    for entry in rules:
        yield f"  # {rule_comment(entry.rule)}"
        yield f"  - {_scalar(entry.pattern)}"


def _scalar(text: str) -> str:
    """Return a double-quoted scalar: a JSON string is one, as long as it has no surrogate pairs."""
    return "".join(_units(json.dumps(text, ensure_ascii=False)))


def _units(text: str) -> Iterator[str]:
    for char in text:
        number = ord(char)
        if 0x20 <= number < 0x7F:
            yield char
        else:
            yield f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
