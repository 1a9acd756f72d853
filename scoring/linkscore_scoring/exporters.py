"""What a policy and the model of a site can say about URLs without the service, as files for crawlers.

Equal rules give equal text. Each function raises `NoRules` if its format can say nothing of the rules; a rule
that a format cannot express is named in the notes of the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain

import numpy as np

from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.errors import NoRules
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import LinkBatch, UrlRule, cluster_name

MAX_URL_RULES = 5_000
"""A bound: rules of one site that are handed out, since crawlers try them one by one."""
MAX_TAG_PATHS = 1_000
"""A bound: tag paths of one site that are handed out."""
_SEEDS = 16
"""A bound: seeds a policy is asked for."""


@dataclass(frozen=True, slots=True)
class TagPathRule:
    """Links by their place on a page, and where they lead."""

    # Raw link path of the links: elements from the root, class tokens of the anchor in brackets.
    tag_path: str
    source: str  # name of the template cluster they stand on, and of the one most of them lead to
    destination: str
    destination_prob: float  # share of the followed ones that led there, (0, 1]
    value: float  # score of such a link under the policy, nothing known of its URL, [0, 1]
    link_count: int  # links seen


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRules:
    """All that can be said about the URLs of a site without the service."""

    crawl: str  # where the rules come from
    host: str  # host with port as in URLs; the registrable domain if `subdomains`
    policy: str
    seeds: tuple[str, ...]  # URLs to start from, at least one
    rules: tuple[UrlRule, ...] = ()  # URLs to follow, most telling first
    # URLs not to follow, whatever `rules` say, and query keys that change nothing, the surest first.
    denied: tuple[UrlRule, ...] = ()
    # Links to follow by their place, best first: for policies that have no `rules`.
    tag_paths: tuple[TagPathRule, ...] = ()
    state: str = ""  # what the policy goes by, one sentence; may be empty
    revision: int = 0  # revision of the site's model, and number of the last event it reflects
    event_seq: int = 0
    subdomains: bool = False  # the rules are for every host of the domain


def site_rules(crawl: CrawlModel, name: str) -> SiteRules:
    """Return what can be said about the URLs of a site; changes nothing."""
    shard = crawl.shard(name)
    site, policy = shard.model, shard.served
    seeds = policy.suggest_seeds(_SEEDS, site)
    best = max((seed.value for seed in seeds), default=0.0)
    rules = policy.rules(site)
    denied = shard.limits.copies.rules(site) if shard.limits.copies is not None else []
    cut = f"the first {MAX_URL_RULES:,} of {len(rules):,} URL rules" if len(rules) > MAX_URL_RULES else ""
    return SiteRules(
        crawl=crawl.config.name,
        host=site.name,
        policy=policy.name,
        # worth at least half of the best: a file of rules cannot say "maybe"
        seeds=tuple(seed.url for seed in seeds if seed.value >= best / 2) or (_home(site),),
        rules=tuple(rules[:MAX_URL_RULES]),
        denied=tuple(denied[:MAX_URL_RULES]),
        tag_paths=tuple(_tag_paths(site, policy)),
        state="; ".join(filter(None, (policy.describe(site), cut))),
        revision=site.revision,
        event_seq=crawl.seq,
        subdomains=crawl.config.scope == "domain",
    )


def _home(site: SiteModel) -> str:
    """Return the root of the site, by the scheme its sampled pages have."""
    schemes = [page.key.partition("://")[0] for page in site.sample]
    return f"{max(set(schemes), key=schemes.count, default='http')}://{site.name}/"


def _tag_paths(site: SiteModel, policy: Policy) -> Iterator[TagPathRule]:
    """Yield the tag paths that the policy values at least as much as the links of the site on average."""
    rows = [
        row
        for row in site.navigation.entries()
        if row.followed > 0.0 and site.link_paths.get(row.link_path).raw
    ]
    if not rows:
        return
    n, zeros = len(rows), [0] * len(rows)  # one link of each row, of whose URL nothing is known
    paths, sources = [row.link_path for row in rows], [row.source for row in rows]
    links = LinkBatch([_home(site)] * n, zeros, paths, sources, [1] * n, zeros, [""] * n)
    values = policy.score(links, site).scores
    seen = np.array([max(1, row.links) for row in rows], dtype=np.float64)
    least = float(values @ seen / seen.sum())
    for at in sorted(range(n), key=lambda at: (-values[at], at))[:MAX_TAG_PATHS]:
        if values[at] >= least - 1e-12:
            row = rows[at]
            destination, share = max(row.destinations.items(), key=lambda pair: pair[1])
            yield TagPathRule(
                tag_path=site.link_paths.get(row.link_path).raw,
                source=cluster_name(row.source),
                destination=cluster_name(destination),
                destination_prob=share,
                value=float(values[at]),
                link_count=row.links,
            )


_DEFAULT_PORTS = "(?::(?:80|443))?"
_SUBDOMAINS = "(?:[0-9A-Za-z_-]+[.])*"


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A file for a crawler: name without folder, text, and what of the rules it does not say."""

    name: str
    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule about URLs, and its expression as every engine reads it."""

    rule: UrlRule
    pattern: str

    @property
    def comment(self) -> str:
        """What the rule is, as one line."""
        rule = self.rule
        seen = f", {rule.match_count} of {rule.total_count} URLs" if rule.total_count else ""
        example = f", for example {rule.example_url}" if rule.example_url else ""
        return _one_line(f"{rule.kind}: confidence {rule.confidence:.2f}{seen}{example}")


def json_file(site: SiteRules) -> RuleFile:
    """All that is known, patterns as the policy gave them (RE2 syntax): for tools of one's own."""
    if not (site.rules or site.denied or site.tag_paths):
        raise _nothing_yet(site)
    document = {"format": "linkscore.rules", "version": 1, **asdict(site)}
    return RuleFile("linkscore-rules.json", json.dumps(document, indent=2) + "\n")


def nutch(site: SiteRules) -> RuleFile:
    """Lines of ``urlfilter-regex``, and of StormCrawler's ``RegexURLFilter``: the first expression found in a
    URL decides, ``+`` or ``-``.

    What is denied comes first. The last line rejects what is left of the site, or accepts it if no rule says
    what to follow; it says nothing of other hosts.
    """
    allowed, denied, notes = _needed(site)
    lines = [f"# {line}" for line in _heading(site)]
    for sign, entries in (("-", denied), ("+", allowed)):
        for entry in entries:
            lines += [f"# {entry.comment}", f"{sign}{entry.pattern}"]
    lines += ["# all other URLs of the site", f"{'-' if allowed else '+'}{_url_of_site(site)}"]
    return RuleFile("regex-urlfilter.txt", "\n".join(lines) + "\n", notes)


def browsertrix(site: SiteRules) -> RuleFile:
    """YAML of scope ``custom``: a URL that fits one expression is in scope, no other is.

    Without rules that say what to follow the scope is what Browsertrix makes of the seeds, but for what is
    denied.
    """
    allowed, denied, notes = _needed(site)
    lines = [f"# {line}" for line in _heading(site)]
    lines += ["seeds:", *(f"  - url: {_yaml(url)}" for url in site.seeds)]
    lines += ["scopeType: custom"] if allowed else []
    for name, entries in (("include", allowed), ("exclude", denied)):
        lines += [f"{name}:"] if entries else []
        for entry in entries:
            lines += [f"  # {entry.comment}", f"  - {_yaml(entry.pattern)}"]
    return RuleFile("browsertrix.yaml", "\n".join(lines) + "\n", notes)


_BEANS = """<?xml version="1.0" encoding="UTF-8"?>
<beans xmlns="http://www.springframework.org/schema/beans"
       xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
       xsi:schemaLocation="http://www.springframework.org/schema/beans
                           http://www.springframework.org/schema/beans/spring-beans-3.0.xsd">
%s
  <bean class="org.archive.modules.deciderules.DecideRuleSequence" id="linkscoreRules">
    <property name="rules"><list>
%s
    </list></property>
  </bean>
</beans>
"""
_DECIDE = """      <bean class="org.archive.modules.deciderules.MatchesListRegexDecideRule">
        <property name="decision" value="%s"/>
        <property name="regexList"><list>%s</list></property>
      </bean>"""


def heritrix(site: SiteRules) -> RuleFile:
    """A Spring bean that rejects the site, then accepts what fits: of decide rules the last one counts.

    Last it rejects what is denied; that alone if no rule says what to follow. Expressions hold no character
    that XML escapes, see `portable`.
    """
    allowed, denied, notes = _needed(site)
    rules = [_decided("REJECT", [f"{_url_of_site(site)}.*"])] if allowed else []
    for decision, entries in (("ACCEPT", allowed), ("REJECT", denied)):
        rules += [_xml_comment(entry.comment) for entry in entries]
        if entries:
            rules.append(_decided(decision, [f".*(?:{entry.pattern}).*" for entry in entries]))
    text = _BEANS % ("\n".join(map(_xml_comment, _heading(site))), "\n".join(rules))
    return RuleFile("linkscore-decide-rules.xml", text, notes)


_CALLBACKS = {
    "index": None,
    "index_flip": None,
    "page_flip": None,
    "thread": "parse_thread",
    "thread_flip": "parse_thread",
}


def scrapy(site: SiteRules) -> RuleFile:
    """A Python module with ``START_URLS``, ``ALLOWED_DOMAINS``, ``DENY`` and ``RULES``, one a kind of URL.

    Without URL rules to follow there is one for all link paths, by XPath. Callbacks are names of methods; one
    that the spider does not have is left out.
    """
    allowed, denied, notes = (_needed if site.rules else _filters)(site)
    rules = _rules_by_url(allowed) if allowed else _rules_by_tag_path(site)
    if not rules:
        raise _nothing_yet(site)
    lines = [
        *(f"# {line}" for line in _heading(site)),
        "from scrapy.linkextractors import LinkExtractor",
        "from scrapy.spiders import Rule",
        "",
        f"ALLOWED_DOMAINS = {[_host_name(site)]!a}",
        f"START_URLS = {list(site.seeds)!a}",
        *_listed("DENY = [", "    ", [(entry.comment, entry.pattern) for entry in denied]),
        *("]", "RULES = (", *rules, ")", ""),
    ]
    return RuleFile("linkscore_rules.py", "\n".join(lines), notes)


FORMATS: dict[str, Callable[[SiteRules], RuleFile]] = {
    "json": json_file,
    "scrapy": scrapy,
    "nutch": nutch,
    "heritrix": heritrix,
    "browsertrix": browsertrix,
}
"""What writes each format, by its name in lower case in `RuleFormat` of the contract."""


def _filters(site: SiteRules) -> tuple[list[_Rule], list[_Rule], tuple[str, ...]]:
    """Return the rules to follow (those of the seeds last; empty: all) and not to follow, and the notes."""
    notes: list[str] = []
    allowed, denied = list[_Rule](), list[_Rule]()
    for rule, found in chain(((r, allowed) for r in site.rules), ((r, denied) for r in site.denied)):
        pattern = _one_line(rule.pattern)
        if rule.kind == "void_key":
            notes.append(f"a query key changes nothing in {pattern}: take it out of URLs")
            continue
        try:
            found.append(_Rule(rule, portable(rule.pattern)))
        except ValueError as exc:
            notes.append(f"rule {pattern} of kind {_one_line(rule.kind)} is left out: {exc}")
    for url in site.seeds if allowed else ():
        is_root = url.count("/") == 3 and url.endswith("/")
        text = _literal(url.removesuffix("/") if is_root else url)
        allowed.append(_Rule(UrlRule("seed", url, example_url=url), f"^{text}{'/?' if is_root else ''}$"))
    return allowed, denied, tuple(notes)


def _needed(site: SiteRules) -> tuple[list[_Rule], list[_Rule], tuple[str, ...]]:
    """Return `_filters`, or raise NoRules if there is neither a rule to follow nor one not to."""
    allowed, denied, notes = _filters(site)
    if allowed or denied:
        return allowed, denied, notes
    if site.rules:
        what = f"none of the {len(site.rules)} rules can be written for other engines"
        raise NoRules(f"site {site.host!r}: {what}")
    state = f" ({site.state})" if site.state else ""
    rest = "; its tag paths are in the formats json and scrapy" if site.tag_paths else ""
    raise NoRules(f"site {site.host!r}: {site.policy} has no rules about its URLs{state}{rest}")


_PIECE = re.compile(
    r"\\x\{([0-9A-Fa-f]{1,4})\}|(\[\^?)((?:[^\[\]\\]|\\.)+)\]|\\([^0-9A-Za-z])|(\\[dws]|\\x[0-9A-Fa-f]{2}|\(\?:)"
    r"|([\\\[]|\(\?)|([^!-~]|[\"'<>&`]|\{(?![0-9]+(?:,[0-9]*)?\}))",
    re.DOTALL,
)
_META = frozenset("\\.^$|?*+()[]{}")


def portable(pattern: str) -> str:
    r"""Return an RE2 expression as all engines read it.

    In ASCII without blanks, quotes, ``<``, ``>`` and ``&``: no URL can end a line, a string or an element of
    the file it is written to. Raises ValueError, naming what is not shared.

    Examples
    --------
    >>> print(portable(r"^https?://a\.org/\d+[^&#]*\x{e9}$"))
    ^https?://a\.org/\d+[^\x26#]*\u00e9$
    """
    found = _PIECE.sub(_printed, pattern)
    try:
        re.compile(found)
    except (re.error, OverflowError, RecursionError) as exc:
        raise ValueError(str(exc)) from exc
    return found


def _printed(piece: re.Match[str]) -> str:
    number, begins, inside, escaped, kept, strange, char = piece.groups()
    if strange:
        raise ValueError(f"no engine shares {piece.string[piece.start() :][:3]!r}")
    if begins:
        return f"{begins}{_PIECE.sub(_printed, inside)}]"
    if escaped:
        return f"\\{escaped}" if _char(escaped) in (escaped, f"\\{escaped}") else _char(escaped)
    return kept or _char(char or chr(int(number, 16)))


def _literal(text: str) -> str:
    """Return an expression that fits exactly a text."""
    return "".join(map(_char, text))


def _char(char: str) -> str:
    if "!" <= char <= "~" and char not in "\"'<>&`":
        return f"\\{char}" if char in _META else char
    return f"\\x{ord(char):02x}" if char < "\x80" else f"\\u{ord(char):04x}"


def _nothing_yet(site: SiteRules) -> NoRules:
    return NoRules(f"site {site.host!r}: {site.policy} has no rules yet{site.state and f' ({site.state})'}")


def _host_name(site: SiteRules) -> str:
    """Return the host without port."""
    end = site.host.find("]") + 1
    return site.host[:end] + site.host[end:].partition(":")[0]


def _url_of_site(site: SiteRules) -> str:
    """Return an expression, anchored in front, that fits every URL of the site."""
    port = _DEFAULT_PORTS if site.host == _host_name(site) else ""
    host = f"{_SUBDOMAINS if site.subdomains else ''}{_literal(site.host)}{port}"
    return f"^https?://(?:[^/?#]*@)?{host}(?:[/?#]|$)"


def _heading(site: SiteRules) -> list[str]:
    """Return the lines that say where a file comes from."""
    lines = [
        f"Links of {site.host} to follow, learned by linkscore.",
        f"crawl {site.crawl}, policy {site.policy}, model revision {site.revision}, event {site.event_seq}",
        *([site.state] if site.state else []),
    ]
    return [_one_line(line) for line in lines]


def _one_line(text: str) -> str:
    """Return text for a comment: printable ASCII, whatever it holds."""
    escaped = text.encode("ascii", "backslashreplace").decode()
    return "".join(char if " " <= char <= "~" else f"\\x{ord(char):02x}" for char in escaped)


def _yaml(text: str) -> str:
    """Return a double-quoted scalar: a JSON string is one, as long as it has no surrogate pairs."""
    return "".join(
        char if " " <= char < "\x7f" else f"\\u{ord(char):04x}" if char <= "\uffff" else f"\\U{ord(char):08x}"
        for char in json.dumps(text, ensure_ascii=False)
    )


def _decided(decision: str, patterns: Sequence[str]) -> str:
    return _DECIDE % (decision, "".join(f"\n          <value>{pattern}</value>" for pattern in patterns))


def _xml_comment(text: str) -> str:
    """Return a comment; two hyphens in a row may not stand in one."""
    return f"      <!-- {text.replace('-', chr(92) + 'x2d') if '--' in text else text} -->"


_ELEMENT = re.compile(r"[a-z][a-z0-9_-]*")
_PADDED_CLASS = "concat(' ', normalize-space(@class), ' ')"


def _rules_by_url(allowed: Iterable[_Rule]) -> list[str]:
    kinds: dict[str, list[tuple[str, str]]] = {}
    for entry in allowed:
        if entry.rule.kind != "seed":  # Scrapy fetches what it starts from once more if a rule leads back
            kinds.setdefault(entry.rule.kind, []).append((entry.comment, entry.pattern))
    return [line for kind, entries in kinds.items() for line in _link_rule("allow", entries, kind)]


def _rules_by_tag_path(site: SiteRules) -> list[str]:
    """Return one rule for all link paths: one that several clusters have is there once, as its best one."""
    xpaths: dict[str, str] = {}
    for rule in site.tag_paths:
        if xpath := xpath_of(rule.tag_path):
            share = f"{rule.destination_prob:.0%} of {rule.source} lead to {rule.destination}"
            said = f"worth {rule.value:.2f}: {rule.link_count} links, {share}"
            xpaths.setdefault(xpath, _one_line(said))
    entries = [(comment, xpath) for xpath, comment in xpaths.items()]
    return _link_rule("restrict_xpaths", entries, "", f"allow_domains={[site.host]!a}, ") if entries else []


def _link_rule(option: str, entries: list[tuple[str, str]], kind: str, more: str = "") -> list[str]:
    callback = _CALLBACKS.get(kind, "parse_page")
    return [
        "    Rule(",
        "        LinkExtractor(",
        *_listed(f"            {option}=[", " " * 16, entries),
        "            ],",
        f"            deny=DENY, {more}deny_extensions=(),",
        "        ),",
        f"        callback={callback!a}, follow=True,",
        "    ),",
    ]


def _listed(begin: str, indent: str, entries: list[tuple[str, str]]) -> list[str]:
    """Return the lines of a list of texts, each below its comment, without the last bracket."""
    return [begin, *(f"{indent}# {comment}\n{indent}{text!a}," for comment, text in entries)]


def xpath_of(tag_path: str) -> str:
    """Return the XPath 1.0 expression for the anchors of a raw link path; empty if it names no element."""
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
