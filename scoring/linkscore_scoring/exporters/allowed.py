"""The URLs that a file lets pass and those it does not, for crawlers that filter by URL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from linkscore_scoring.errors import NoRules
from linkscore_scoring.exporters.base import SiteRules
from linkscore_scoring.exporters.portable import Branch, NotPortable, branches, joined, literal
from linkscore_scoring.types import UrlRule

_DEFAULT_PORTS = "(?::(?:80|443))?"
_SUBDOMAINS = "(?:[0-9A-Za-z_-]+[.])*"
_BEGINS_PATH = re.compile(r"/\??|\(\?:/[^|]*")
_NEGATED = re.compile(r"\[\^[^\]]*\]")


@dataclass(frozen=True, slots=True)
class PortableRule:
    """A rule about URLs, and its expression in the parts that every engine reads alike."""

    rule: UrlRule
    parts: list[Branch]

    @property
    def pattern(self) -> str:
        """The expression for engines that look for it in the URL."""
        return joined(self.parts)

    @property
    def whole(self) -> str:
        """The expression for engines that want it to fit the whole URL."""
        ends = len(self.parts) == 1 and self.parts[0][-1:] == ["$"]
        if ends and self.parts[0][0] == "^":
            return self.pattern
        before = "" if all(parts[:1] == ["^"] for parts in self.parts) else ".*"
        return f"{before}(?:{self.pattern}).*"

    def paths(self) -> list[str]:
        """Return expressions for engines that see path and query only: scheme and host are cut off.

        Raises
        ------
        NotPortable
            If it is not clear where the host ends.
        """
        return ["^" + "".join(parts[_path_start(parts) :]) for parts in self.parts]


def _path_start(parts: Branch) -> int:
    """Return where the path begins in one alternative: at the first slash after ``//``."""
    slashes = [at for at, part in enumerate(parts) if "/" in _NEGATED.sub("", part)]
    if parts[:1] != ["^"] or len(slashes) < 3 or slashes[1] != slashes[0] + 1:
        raise NotPortable("it is not clear where its path begins")
    if parts[slashes[0]] + parts[slashes[1]] != "//" or not _BEGINS_PATH.fullmatch(parts[slashes[2]]):
        raise NotPortable("it is not clear where its path begins")
    return slashes[2]


@dataclass(frozen=True, slots=True)
class Filters:
    """What is written of the rules of a site, and a note for each that is left out.

    Attributes
    ----------
    allowed
        URLs to follow, those of the seeds last; empty: all that are not denied.
    denied
        URLs not to follow, whatever else is said of them.
    """

    allowed: list[PortableRule]
    denied: list[PortableRule]
    notes: list[str]


def filters(site: SiteRules) -> Filters:
    """Return the expressions to follow and not to follow.

    Raises
    ------
    NoRules
        If no URL rule is left.
    """
    found = portable_rules(site)
    if not found.allowed and not found.denied:
        raise NoRules(_why_none(site))
    return found


def portable_rules(site: SiteRules) -> Filters:
    """Return what `filters` does, which may be nothing."""
    notes: list[str] = []
    allowed = list(_portable(site.rules, notes))
    denied = list(_portable([rule for rule in site.denied if rule.kind != "void_key"], notes))
    notes += [
        f"a query key changes nothing in {one_line(rule.pattern)}: take it out of URLs"
        for rule in site.denied
        if rule.kind == "void_key"
    ]
    return Filters(allowed + list(_seeds(site)) if allowed else [], denied, notes)


def _portable(rules: Iterable[UrlRule], notes: list[str]) -> Iterator[PortableRule]:
    """Yield the rules that can be written, and note the others."""
    for rule in rules:
        try:
            yield PortableRule(rule, branches(rule.pattern))
        except NotPortable as exc:
            notes.append(f"rule {one_line(rule.pattern)} of kind {one_line(rule.kind)} is left out: {exc}")


def _why_none(site: SiteRules) -> str:
    if site.rules:
        return f"site {site.host!r}: none of the {len(site.rules)} rules can be written for other engines"
    state = f" ({site.state})" if site.state else ""
    rest = "; its tag paths are in the formats json and scrapy" if site.tag_paths else ""
    return f"site {site.host!r}: {site.policy} has no rules about its URLs{state}{rest}"


def _seeds(site: SiteRules) -> Iterator[PortableRule]:
    for url in site.seeds:
        is_root = url.count("/") == 3 and url.endswith("/")
        try:
            text = literal(url.removesuffix("/") if is_root else url)
            yield PortableRule(UrlRule("seed", url, example=url), [["^", *text, *["/?"] * is_root, "$"]])
        except NotPortable:
            continue


def host_name(site: SiteRules) -> str:
    """Return the host without port."""
    end = site.host.find("]") + 1
    return site.host[:end] + site.host[end:].partition(":")[0]


def host_pattern(site: SiteRules) -> str:
    """Return an expression that fits the host of the site's URLs, port and all, without anchors."""
    port = _DEFAULT_PORTS if site.host == host_name(site) else ""
    host = "".join(literal(site.host))
    return f"{_SUBDOMAINS if site.subdomains else ''}{host}{port}"


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


def rule_comment(rule: UrlRule) -> str:
    """Return what a rule is, as one line for a comment."""
    seen = f", {rule.matches} of {rule.total} URLs" if rule.total else ""
    example = f", for example {rule.example}" if rule.example else ""
    return one_line(f"{rule.kind}: confidence {rule.confidence:.2f}{seen}{example}")
