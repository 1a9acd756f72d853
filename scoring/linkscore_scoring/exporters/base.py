"""What an exporter is given, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from linkscore_scoring.types import UrlRule


@dataclass(frozen=True, slots=True)
class TagPathRule:
    """Links by their place on a page, and where they lead.

    Attributes
    ----------
    tag_path
        Raw link path of the links: elements from the root, class tokens of the anchor in brackets.
    source, destination
        Name of the template cluster they stand on, and of the one most of them lead to.
    destination_prob
        Share of the followed ones that led there, (0, 1].
    value
        Score of such a link under the policy, nothing known of its URL, [0, 1].
    links
        Links seen.
    """

    tag_path: str
    source: str
    destination: str
    destination_prob: float
    value: float
    links: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRules:
    """All that can be said about the URLs of a site without the service.

    Attributes
    ----------
    crawl, policy
        Where the rules come from.
    host
        Host with port as in URLs; the registrable domain if `subdomains`.
    subdomains
        The rules are for every host of the domain.
    state
        What the policy goes by, one sentence; may be empty.
    revision, event_seq
        Revision of the site's model, and number of the last event it reflects.
    rules
        URLs to follow, most telling first; all others of the host are not followed.
    denied
        URLs not to follow, whatever `rules` say, and query keys that change nothing, the surest first.
    tag_paths
        Links to follow by their place, best first: for policies that have no `rules`.
    seeds
        URLs to start from, at least one.
    """

    crawl: str
    host: str
    policy: str
    seeds: tuple[str, ...]
    rules: tuple[UrlRule, ...] = ()
    denied: tuple[UrlRule, ...] = ()
    tag_paths: tuple[TagPathRule, ...] = ()
    state: str = ""
    revision: int = 0
    event_seq: int = 0
    subdomains: bool = False


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A file for a crawler: name without folder, media type, text, and what of the rules it does not say."""

    name: str
    media_type: str
    text: str
    notes: tuple[str, ...] = ()


class Export(Protocol):
    """Writes the rules of a site as a file; equal rules give equal text.

    Raises
    ------
    NoRules
        If the crawler's format can say nothing of these rules.
    """

    def __call__(self, site: SiteRules) -> RuleFile: ...
