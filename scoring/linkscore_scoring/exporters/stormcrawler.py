"""StormCrawler: the JSON file of its FastURLFilter."""

from __future__ import annotations

import json

from linkscore_scoring.errors import NoRules
from linkscore_scoring.exporters.allowed import PortableRule, filters, host_name, one_line
from linkscore_scoring.exporters.base import RuleFile, SiteRules
from linkscore_scoring.exporters.portable import NotPortable

NAME = "stormcrawler"

_DENY_REST = "DenyPathQuery .*"


def export(site: SiteRules) -> RuleFile:
    """Return one scope, the site: its rules see path and query, and the first that is found decides.

    What is denied comes first; what is left is denied too if any rule says what to follow.

    Raises
    ------
    NoRules
        If there is no URL rule, or none that can be told by path and query.
    """
    found, notes = filters(site), list[str]()
    denied, allowed = _paths(found.denied, notes), _paths(found.allowed, notes)
    notes = [*found.notes, *notes]
    if not denied and not allowed:
        raise NoRules(f"site {site.host!r}: none of its rules can be expressed by path and query alone")
    if site.host != host_name(site):
        notes.append("the filter knows no ports: the rules are for all ports of the host")
    patterns = [f"DenyPathQuery {path}" for path in dict.fromkeys(denied)]
    if allowed:
        patterns += [*(f"AllowPathQuery {path}" for path in dict.fromkeys(allowed)), _DENY_REST]
    kind = "domain" if site.subdomains else "host"
    scope = {"scope": f"{kind}:{host_name(site)}", "patterns": patterns}
    text = json.dumps([scope], indent=2) + "\n"
    return RuleFile("fast.urlfilter.json", "application/json", text, tuple(notes))


def _paths(found: list[PortableRule], notes: list[str]) -> list[str]:
    paths = list[str]()
    for entry in found:
        try:
            paths += entry.paths()
        except NotPortable as exc:
            notes.append(f"rule {one_line(entry.pattern)} is left out: {exc}")
    return paths
