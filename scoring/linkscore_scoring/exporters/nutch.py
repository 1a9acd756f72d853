"""Nutch: a regex-urlfilter.txt."""

from __future__ import annotations

from linkscore_scoring.exporters.allowed import allowed, heading, rule_comment, url_of_site_pattern
from linkscore_scoring.exporters.base import RuleFile, SiteRules

NAME = "nutch"


def export(site: SiteRules) -> RuleFile:
    """Return the lines of ``urlfilter-regex``: the first expression found in a URL decides, ``+`` or ``-``.

    The last line rejects what is left of the site; other hosts are not spoken of.

    Raises
    ------
    NoRules
        If there is no URL rule.
    """
    found, notes = allowed(site)
    lines = [f"# {line}" for line in heading(site)]
    for entry in found:
        lines += [f"# {rule_comment(entry.rule)}", f"+{entry.pattern}"]
    lines += ["# all other URLs of the site", f"-{url_of_site_pattern(site)}"]
    return RuleFile("regex-urlfilter.txt", "text/plain", "\n".join(lines) + "\n", tuple(notes))
