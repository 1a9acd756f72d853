"""All that is known, as JSON: complete, for tools of one's own."""

from __future__ import annotations

import json
from dataclasses import asdict

from linkscore_scoring.errors import NoRules
from linkscore_scoring.exporters.base import RuleFile, SiteRules

NAME = "json"
VERSION = 1
"""Changes when a field changes its meaning or goes; new fields do not change it."""


def export(site: SiteRules) -> RuleFile:
    """Return the rules with patterns as the policy gave them, RE2 syntax.

    Raises
    ------
    NoRules
        If there are neither URL rules nor tag paths.
    """
    if not (site.rules or site.denied or site.tag_paths):
        raise NoRules(
            f"site {site.host!r}: {site.policy} has no rules yet{site.state and f' ({site.state})'}"
        )
    document = {"format": "linkscore.rules", "version": VERSION, **asdict(site)}
    return RuleFile("linkscore-rules.json", "application/json", json.dumps(document, indent=2) + "\n")
