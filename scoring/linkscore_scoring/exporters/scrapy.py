"""Scrapy: a Python module with the rules of a CrawlSpider."""

from __future__ import annotations

from collections.abc import Iterator

from linkscore_scoring.errors import NoRules
from linkscore_scoring.exporters.allowed import Allowed, allowed, heading, host_name, one_line, saying
from linkscore_scoring.exporters.base import RuleFile, SiteRules, TagPathRule
from linkscore_scoring.exporters.xpaths import xpath_of

NAME = "scrapy"

_CALLBACKS = {
    "index": None,
    "index_flip": None,
    "page_flip": None,
    "thread": "parse_thread",
    "thread_flip": "parse_thread",
}
_PAGE = "parse_page"


def export(site: SiteRules) -> RuleFile:
    """Return ``START_URLS``, ``ALLOWED_DOMAINS`` and ``RULES``, one for each kind of URL.

    Without URL rules there is one for all tag paths, by XPath. Callbacks are names of methods; one that the
    spider does not have is left out.

    Raises
    ------
    NoRules
        If there are neither URL rules nor tag paths that an XPath can tell.
    """
    if site.rules:
        found, notes = allowed(site)
        rules = list(_url_rules(site, found))
    else:
        rules, notes = list(_tag_path_rules(site)), []
    if not rules:
        raise NoRules(
            f"site {site.host!r}: {site.policy} has no rules yet{site.state and f' ({site.state})'}"
        )
    text = "\n".join([*_head(site), "RULES = (", *rules, ")", ""])
    return RuleFile("linkscore_rules.py", "text/x-python", text, tuple(notes))


def _head(site: SiteRules) -> Iterator[str]:
    yield from (f"# {line}" for line in heading(site))
    yield "from scrapy.linkextractors import LinkExtractor"
    yield "from scrapy.spiders import Rule"
    yield ""
    yield f"ALLOWED_DOMAINS = {_data([host_name(site)])}"
    yield f"START_URLS = {_data(list(site.seeds))}"


def _url_rules(site: SiteRules, found: list[Allowed]) -> Iterator[str]:
    kinds: dict[str, list[Allowed]] = {}
    for entry in found:
        if entry.rule.kind == "seed":  # Scrapy fetches what it starts from once more if a rule leads back
            continue
        kinds.setdefault(entry.rule.kind, []).append(entry)
    for kind, entries in kinds.items():
        yield from _rule("allow", [(saying(entry.rule), entry.pattern) for entry in entries], kind)


def _tag_path_rules(site: SiteRules) -> Iterator[str]:
    """Yield one rule for all tag paths: a path that several clusters have is there once, as its best one."""
    xpaths: dict[str, str] = {}
    for rule in site.tag_paths:
        if xpath := xpath_of(rule.tag_path):
            xpaths.setdefault(xpath, _leads(rule))
    if xpaths:
        entries = [(comment, xpath) for xpath, comment in xpaths.items()]
        yield from _rule("restrict_xpaths", entries, "", domain=site.host)


def _rule(option: str, entries: list[tuple[str, str]], kind: str, *, domain: str = "") -> Iterator[str]:
    callback = _CALLBACKS.get(kind, _PAGE)
    yield "    Rule("
    yield "        LinkExtractor("
    yield f"            {option}=["
    for comment, text in entries:
        yield f"                # {comment}"
        yield f"                {_data(text)},"
    yield "            ],"
    if domain:
        yield f"            allow_domains={_data([domain])},"
    yield "            deny_extensions=(),"
    yield "        ),"
    if callback:
        yield f"        callback={_data(callback)},"
    yield "        follow=True,"
    yield "    ),"


def _leads(rule: TagPathRule) -> str:
    share = f"{rule.destination_prob:.0%} of {rule.source} lead to {rule.destination}"
    return one_line(f"worth {rule.value:.2f}: {rule.links} links, {share}")


def _data(value: object) -> str:
    """Return a literal of Python in ASCII, whatever it holds."""
    return ascii(value)
