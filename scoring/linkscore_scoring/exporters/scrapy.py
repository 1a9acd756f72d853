"""Scrapy: a Python module with the rules of a CrawlSpider."""

from __future__ import annotations

import re
from collections.abc import Iterator

from linkscore_scoring.errors import NoRules
from linkscore_scoring.exporters.allowed import (
    PortableRule,
    filters,
    heading,
    host_name,
    one_line,
    portable_rules,
    rule_comment,
)
from linkscore_scoring.exporters.base import RuleFile, SiteRules, TagPathRule

NAME = "scrapy"

_CALLBACKS = {
    "index": None,
    "index_flip": None,
    "page_flip": None,
    "thread": "parse_thread",
    "thread_flip": "parse_thread",
}
_PAGE = "parse_page"
_ELEMENT = re.compile(r"[a-z][a-z0-9_-]*")
_PADDED_CLASS = "concat(' ', normalize-space(@class), ' ')"


def export(site: SiteRules) -> RuleFile:
    """Return ``START_URLS``, ``ALLOWED_DOMAINS``, ``DENY`` and ``RULES``, one for each kind of URL.

    Without URL rules to follow there is one for all tag paths, by XPath. Callbacks are names of methods; one
    that the spider does not have is left out.

    Raises
    ------
    NoRules
        If there are neither URL rules nor tag paths that an XPath can tell.
    """
    found = filters(site) if site.rules else portable_rules(site)
    rules = list(_rules_by_url(found.allowed) if found.allowed else _rules_by_tag_path(site))
    if not rules:
        raise NoRules(
            f"site {site.host!r}: {site.policy} has no rules yet{site.state and f' ({site.state})'}"
        )
    denied = _listed(
        "DENY = [", "    ", [(rule_comment(entry.rule), entry.pattern) for entry in found.denied]
    )
    text = "\n".join([*_head(site), *denied, "]", "RULES = (", *rules, ")", ""])
    return RuleFile("linkscore_rules.py", "text/x-python", text, tuple(found.notes))


def _head(site: SiteRules) -> Iterator[str]:
    yield from (f"# {line}" for line in heading(site))
    yield "from scrapy.linkextractors import LinkExtractor"
    yield "from scrapy.spiders import Rule"
    yield ""
    yield f"ALLOWED_DOMAINS = {_literal([host_name(site)])}"
    yield f"START_URLS = {_literal(list(site.seeds))}"


def _rules_by_url(found: list[PortableRule]) -> Iterator[str]:
    kinds: dict[str, list[PortableRule]] = {}
    for entry in found:
        if entry.rule.kind == "seed":  # Scrapy fetches what it starts from once more if a rule leads back
            continue
        kinds.setdefault(entry.rule.kind, []).append(entry)
    for kind, entries in kinds.items():
        yield from _rule("allow", [(rule_comment(entry.rule), entry.pattern) for entry in entries], kind)


def _rules_by_tag_path(site: SiteRules) -> Iterator[str]:
    """Yield one rule for all tag paths: a path that several clusters have is there once, as its best one."""
    xpaths: dict[str, str] = {}
    for rule in site.tag_paths:
        if xpath := xpath_of(rule.tag_path):
            xpaths.setdefault(xpath, _tag_path_comment(rule))
    if xpaths:
        entries = [(comment, xpath) for xpath, comment in xpaths.items()]
        yield from _rule("restrict_xpaths", entries, "", domain=site.host)


def _rule(option: str, entries: list[tuple[str, str]], kind: str, *, domain: str = "") -> Iterator[str]:
    callback = _CALLBACKS.get(kind, _PAGE)
    yield "    Rule("
    yield "        LinkExtractor("
    yield from _listed(f"            {option}=[", " " * 16, entries)
    yield "            ],"
    yield "            deny=DENY,"
    if domain:
        yield f"            allow_domains={_literal([domain])},"
    yield "            deny_extensions=(),"
    yield "        ),"
    if callback:
        yield f"        callback={_literal(callback)},"
    yield "        follow=True,"
    yield "    ),"


def _listed(begin: str, indent: str, entries: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of a list of texts, each below its comment, without the last bracket."""
    yield begin
    for comment, text in entries:
        yield f"{indent}# {comment}"
        yield f"{indent}{_literal(text)},"


def _tag_path_comment(rule: TagPathRule) -> str:
    share = f"{rule.destination_prob:.0%} of {rule.source} lead to {rule.destination}"
    return one_line(f"worth {rule.value:.2f}: {rule.links} links, {share}")


def _literal(value: object) -> str:
    """Return a literal of Python in ASCII, whatever it holds."""
    return ascii(value)


def xpath_of(tag_path: str) -> str:
    """Return the XPath 1.0 expression for the anchors of a raw link path; empty if it names no element.

    A path from the root element is exact: the same elements, the same class tokens on the anchor. One that
    begins elsewhere, as crawlers may send them, fits anywhere. An element whose name is no plain one is any
    element.

    Examples
    --------
    >>> xpath_of("html/body/ul/li/a")
    '/html/body/ul/li/a'
    >>> xpath_of("html/body/a[]")
    '/html/body/a[not(normalize-space(@class))]'
    """
    path, has_classes, classes = tag_path.removesuffix("]").partition("[")
    names = [name if _ELEMENT.fullmatch(name) else "*" for name in path.split("/") if name]
    if not names:
        return ""
    start = "/" if names[0] == "html" else "//"
    return start + "/".join(names) + (_exactly(classes.split()) if has_classes else "")


def _exactly(tokens: list[str]) -> str:
    """Return the predicate for elements with these class tokens, all different, and no others."""
    if not tokens:
        return "[not(normalize-space(@class))]"
    has = [f"contains({_PADDED_CLASS}, {_xpath_string(f' {token} ')})" for token in tokens]
    return f"[{' and '.join(has)} and string-length(normalize-space(@class)) = {len(' '.join(tokens))}]"


def _xpath_string(value: str) -> str:
    """Return a string; XPath has no escapes, so one with both kinds of quotes is put together."""
    if "'" not in value:
        return f"'{value}'"
    pieces = ', "\'", '.join(f"'{piece}'" for piece in value.split("'"))
    return f"concat({pieces})"
