"""Walk a whole site once and note what a perfect crawl could find: the yardstick of every figure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from linkscore_lab.datasets.page_facts import PageFacts, read_page
from linkscore_lab.datasets.site import Reply, Site, follow, identity, identity_or_none


@dataclass(slots=True)
class Survey:
    """The reachable pages of a site.

    Attributes
    ----------
    pages
        Facts of each reachable page by identity, in breadth-first order; without their links.
    types
        Page type by identity; pages without label are absent.
    """

    pages: dict[str, PageFacts] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)

    def of_types(self, wanted: Iterable[str]) -> frozenset[str]:
        """Return the reachable pages whose label is one of `wanted`."""
        chosen = frozenset(wanted)
        return frozenset(key for key in self.pages if self.types.get(key) in chosen)


def survey_site(site: Site, seen_page: Callable[[], None] = lambda: None) -> Survey:
    """Return what can be reached from the entry over anchors, nofollow included and redirects followed.

    `seen_page` is called for each page found. Cost: one parse a page.
    """
    survey, labels = Survey(), site.labels()
    asked = {identity(site.entry)}
    frontier = deque([site.entry])
    while frontier:
        final, reply = follow(site, frontier.popleft())
        key = identity(final)
        if not _is_page(reply) or key in survey.pages:
            continue
        facts = read_page(final, reply.body)
        survey.pages[key] = PageFacts((), facts.blocks, facts.content)
        if key in labels:
            survey.types[key] = labels[key]
        frontier.extend(_fresh(facts.links, asked))
        seen_page()
    return survey


def _is_page(reply: Reply) -> bool:
    return not reply.is_redirect and reply.status < 400


def _fresh(links: Iterable[str], asked: set[str]) -> list[str]:
    fresh = []
    for link in links:
        key = identity_or_none(link)
        if key is not None and key not in asked:
            asked.add(key)
            fresh.append(link)
    return fresh
