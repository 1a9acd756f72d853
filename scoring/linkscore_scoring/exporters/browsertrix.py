"""Browsertrix Crawler: seeds and scope for its YAML configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator

from linkscore_scoring.exporters.allowed import allowed, heading, rule_comment
from linkscore_scoring.exporters.base import RuleFile, SiteRules

NAME = "browsertrix"


def export(site: SiteRules) -> RuleFile:
    """Return a configuration of scope ``custom``: a URL that fits one expression is in scope, no other is.

    Raises
    ------
    NoRules
        If there is no URL rule.
    """
    found, notes = allowed(site)
    lines = [f"# {line}" for line in heading(site)]
    lines += ["seeds:", *(f"  - url: {_scalar(url)}" for url in site.seeds)]
    lines += ["scopeType: custom", "include:"]
    for entry in found:
        lines += [f"  # {rule_comment(entry.rule)}", f"  - {_scalar(entry.pattern)}"]
    return RuleFile("browsertrix.yaml", "application/yaml", "\n".join(lines) + "\n", tuple(notes))


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
