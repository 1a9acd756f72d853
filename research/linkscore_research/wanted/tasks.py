"""Tasks in words from stored pages: find those that carry a tag, knowing the words of the tag."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from lxml import etree

from linkscore_lab.replay.prepare import SiteSource, StoredSite
from linkscore_scoring.wanted import Wanted

TAGS = "//a[@rel='tag' or contains(@rel, ' tag') or contains(@class, 'qa-tag-link')]"
CATEGORIES = "//*[@id='catlinks' or @id='mw-normal-catlinks']//a"
SECTION = r"/(?:w/(?:cpp/)?|cpp/|c/)([a-z_]+)/"
"""XPath of tags and of MediaWiki's categories; the section of a reference work in a URL."""


def carried_tags(url: str, body: bytes, kind: str) -> frozenset[str]:
    """Return the tags a page carries. Lists of pages show the tags of all of them."""
    if kind == SECTION:
        return frozenset(re.findall(SECTION, url)[:1])
    root = etree.HTML(b"<p>" + body, etree.HTMLParser(encoding="utf-8"))  # an empty page is none
    return frozenset({" ".join("".join(link.itertext()).split()) for link in root.xpath(kind)} - {""})


@dataclass(frozen=True, slots=True)
class WantedSite:
    """A stored site that tasks are made of."""

    name: str  # Of its archive and labels
    types: frozenset[str]  # Types of pages whose tags are their own; lists show the tags of others
    least: int  # Pages of a task: fewer say little, more are no topic
    most: int
    kind: str  # What its pages are told apart by: a kind of `carried_tags`
    parts: tuple[str, ...] = ()  # Archives that are crawled as one, an entry each; empty: that of `name`


_ALL = ("qa_q2a", "blog_wordpress", "wiki_x3", "wiki_cppref", "shop_static")
SITES = (
    WantedSite("qa_q2a", frozenset({"question"}), 8, 200, TAGS),
    WantedSite("blog_wordpress", frozenset({"post"}), 8, 200, TAGS),
    WantedSite("wiki_x3", frozenset({"article"}), 20, 200, CATEGORIES),
    WantedSite("wiki_cppref", frozenset({"decl", "prose"}), 20, 200, SECTION),
    WantedSite("mixed", frozenset({"question", "post"}), 12, 400, TAGS, _ALL),
)
"""The sites, and all of them as one crawl for what two of them have; what is no topic is in `_NO_TOPIC`."""

_NO_TOPIC = frozenset(
    {
        *("solved", "questions", "Categories", "Category", "Stub", "Not Purchasable"),
        "Pages using duplicate arguments in template calls",
    }
)


@dataclass(frozen=True, slots=True)
class TagTask:
    """Find the pages with a tag."""

    site: str  # Names
    tag: str
    pages: frozenset[str]  # Identities of the reachable pages with the tag
    wanted: Wanted  # What the crawl is told

    @property
    def is_judged(self) -> bool:
        """Whether it is of the half that nothing is chosen on: a bit of a hash of its name."""
        return hashlib.sha256(f"{self.site}/{self.tag}".encode()).digest()[0] % 2 == 1


def tag_tasks(spec: WantedSite, site: StoredSite) -> Iterator[TagTask]:
    """Yield the tasks of a site, in the order in which their first pages are reached.

    Of several sites together: the tags, in lower case, that pages of at least two of them carry.
    """
    pages: dict[str, set[str]] = {}
    hosts: dict[str, set[str]] = {}
    for number in site.reachable():
        record = site.records[number]
        if site.types.get(record.key) in spec.types:
            body = site.body(number)
            tags = carried_tags(record.url, body, spec.kind)
            for tag in sorted({tag.lower() if spec.parts else tag for tag in tags - _NO_TOPIC}):
                pages.setdefault(tag, set()).add(record.key)
                hosts.setdefault(tag, set()).add(urlsplit(record.url).netloc)
    for tag, found in pages.items():
        if spec.least <= len(found) <= spec.most and (len(hosts[tag]) > 1 or not spec.parts):
            yield TagTask(spec.name, tag, frozenset(found), Wanted((tag.replace("_", " "),)))


def sources(spec: WantedSite, folders: list[Path]) -> list[SiteSource] | None:
    """Return archive and labels of a site, or of its parts, each from the first folder that has both."""
    found = [source(name, folders) for name in spec.parts or (spec.name,)]
    kept = [source for source in found if source is not None]
    return kept if len(kept) == len(found) else None


def rewards(task: TagTask, site: StoredSite) -> Mapping[str, float]:
    """Return 1 for the pages of a task and 0 for the others: what feedback would say."""
    return {record.key: float(record.key in task.pages) for record in site.records if record.is_page}


def source(name: str, folders: Sequence[Path]) -> SiteSource | None:
    """Return archive and labels of a site from the first folder that has both, None if none has."""
    for folder in folders:
        archive, labels = folder / f"{name}.warc.gz", folder / f"{name}.labels.tsv.gz"
        if archive.exists() and labels.exists():
            return SiteSource([archive], labels)
    return None
