"""Nutch: a regex-urlfilter.txt."""

from __future__ import annotations

from linkscore_scoring.exporters.allowed import filters, heading, rule_comment, url_of_site_pattern
from linkscore_scoring.exporters.base import RuleFile, SiteRules

NAME = "nutch"


def export(site: SiteRules) -> RuleFile:
    """Return the lines of ``urlfilter-regex``: the first expression found in a URL decides, ``+`` or ``-``.

    What is denied comes first. The last line rejects what is left of the site, or accepts it if no rule says
    what to follow; other hosts are not spoken of.

    Raises
    ------
    NoRules
        If there is no URL rule.
    """
    found = filters(site)
    lines = [f"# {line}" for line in heading(site)]
    for sign, entries in (("-", found.denied), ("+", found.allowed)):
        for entry in entries:
            lines += [f"# {rule_comment(entry.rule)}", f"{sign}{entry.pattern}"]
    rest = "-" if found.allowed else "+"
    lines += ["# all other URLs of the site", f"{rest}{url_of_site_pattern(site)}"]
    return RuleFile("regex-urlfilter.txt", "text/plain", "\n".join(lines) + "\n", tuple(found.notes))
