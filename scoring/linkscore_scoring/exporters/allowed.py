"""The URLs that a file lets pass, for crawlers that filter by URL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linkscore_scoring.errors import NoRules
from linkscore_scoring.exporters.base import SiteRules
from linkscore_scoring.exporters.portable import NotPortable, branches, literal, portable
from linkscore_scoring.site.url_rules import UrlRule

_DEFAULT_PORTS = "(?::(?:80|443))?"
_SUBDOMAINS = "(?:[0-9A-Za-z_-]+[.])*"


@dataclass(frozen=True, slots=True)
class Allowed:
    """URLs to follow: the rule, and its expression as every engine reads it."""

    rule: UrlRule
    pattern: str

    @property
    def whole(self) -> str:
        """The expression for engines that want it to fit the whole URL."""
        alternatives = branches(self.pattern)
        ends = len(alternatives) == 1 and alternatives[0][-1:] == ["$"]
        return self.pattern if ends else f"(?:{self.pattern}).*"

    @property
    def path(self) -> str:
        """The expression for engines that see path and query only, anchored; cuts off scheme and host.

        Raises
        ------
        NotPortable
            If it is not clear where the host ends.
        """
        alternatives = branches(self.pattern)
        parts = alternatives[0]
        if len(alternatives) > 1 or parts[:1] != ["^"]:
            raise NotPortable("not one expression that begins with the scheme")
        return "^" + "".join(parts[_path_start(parts) :])


def _path_start(parts: list[str]) -> int:
    """Return where the path begins in the parts of an expression: at the third slash."""
    slashes = [at for at, part in enumerate(parts) if part.rstrip("?") == "/"]
    if len(slashes) < 3 or slashes[1] != slashes[0] + 1 or any("/" in p for p in parts[: slashes[0]]):
        raise NotPortable("no path after scheme and host")
    if any("/" in part for part in parts[slashes[1] + 1 : slashes[2]]):
        raise NotPortable("a host with a slash")
    return slashes[2]


def allowed(site: SiteRules) -> tuple[list[Allowed], list[str]]:
    """Return the expressions to follow, those of the seeds last, and a note for each rule left out.

    Raises
    ------
    NoRules
        If no URL rule is left.
    """
    found, notes = [], []
    for rule in site.rules:
        try:
            found.append(Allowed(rule, portable(rule.pattern)))
        except NotPortable as exc:
            notes.append(f"rule {one_line(rule.pattern)} of kind {one_line(rule.kind)} is left out: {exc}")
    if not found:
        raise NoRules(_why_none(site))
    return found + list(_seeds(site)), notes


def _why_none(site: SiteRules) -> str:
    if site.rules:
        return f"site {site.host!r}: none of the {len(site.rules)} rules can be written for other engines"
    told = f" ({site.state})" if site.state else ""
    rest = "; its tag paths are in the formats json and scrapy" if site.tag_paths else ""
    return f"site {site.host!r}: {site.policy} has no rules about its URLs{told}{rest}"


def _seeds(site: SiteRules) -> Iterator[Allowed]:
    for url in site.seeds:
        scheme, _, rest = url.partition("://")
        try:
            pattern = f"^{literal(scheme)}://{literal(rest.removesuffix('/'))}{'/?' * rest.endswith('/')}$"
        except NotPortable:
            continue
        yield Allowed(UrlRule("seed", pattern, example=url), pattern)


def host_name(site: SiteRules) -> str:
    """Return the host without port."""
    end = site.host.find("]") + 1
    return site.host[:end] + site.host[end:].partition(":")[0]


def host_pattern(site: SiteRules) -> str:
    """Return an expression that fits the host of the site's URLs, port and all, without anchors."""
    port = _DEFAULT_PORTS if site.host == host_name(site) else ""
    return f"{_SUBDOMAINS if site.subdomains else ''}{literal(site.host)}{port}"


def url_of_site_pattern(site: SiteRules) -> str:
    """Return an expression, anchored in front, that fits every URL of the site."""
    return f"^https?://(?:[^/?#]*@)?{host_pattern(site)}(?:[/?#]|$)"


def one_line(text: str) -> str:
    """Return text for a comment: printable ASCII, whatever it holds."""
    escaped = text.encode("ascii", "backslashreplace").decode()
    return "".join(char if " " <= char <= "~" else f"\\x{ord(char):02x}" for char in escaped)


def heading(site: SiteRules) -> list[str]:
    """Return the lines that say where a file comes from; the same for every format."""
    lines = [
        f"Links of {site.host} to follow, learned by linkscore.",
        f"crawl {site.crawl}, policy {site.policy}, model revision {site.revision}, event {site.event_seq}",
        *([site.state] if site.state else []),
    ]
    return [one_line(line) for line in lines]


def saying(rule: UrlRule) -> str:
    """Return what a rule is, as one line for a comment."""
    seen = f", {rule.matches} of {rule.total} URLs" if rule.total else ""
    example = f", for example {rule.example}" if rule.example else ""
    return one_line(f"{rule.kind}: confidence {rule.confidence:.2f}{seen}{example}")
