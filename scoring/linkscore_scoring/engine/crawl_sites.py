"""The sites of a crawl: found by name, URL or ticket, and fetches as they see them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl_wide import CrawlWide
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.engine.link_batches import hash_of
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.engine.tickets import NO_TICKET, TicketBook
from linkscore_scoring.errors import NotFound
from linkscore_scoring.pagination.page_links import page_links_of
from linkscore_scoring.site.fetch import Fetch
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import UNKNOWN_APATH, ExamplePage
from linkscore_scoring.urls.identity import host_of


class CrawlSites:
    """The sites of a crawl, each with its policies.

    Parameters
    ----------
    config
        How the crawl is set up.
    ticket_key
        Secret for ticket MACs.
    domain_of
        Host -> registrable domain; used by crawls of scope ``domain`` only.
    """

    def __init__(
        self, config: CrawlConfig, *, ticket_key: bytes, domain_of: Callable[[str], str] | None = None
    ) -> None:
        self.config = config
        self.seq = 0
        self.crawl_wide = CrawlWide(config)
        self.sites: OrderedDict[str, SiteShard] = OrderedDict()
        self._hosts: dict[int, str] = {}
        self._book = TicketBook(ticket_key, config.name)
        self._domain_of = domain_of or (lambda host: host)

    def shard(self, site: str) -> SiteShard:
        """Return a site.

        Raises
        ------
        NotFound
            If the crawl has no such site.
        """
        if site not in self.sites:
            raise NotFound(
                f"site {site!r}: not among the {len(self.sites)} sites of crawl {self.config.name!r}"
            )
        return self.sites[site]

    def stranger(self, site: str) -> SiteShard:
        """Return a site as it would be before its first page, without keeping it."""
        model = SiteModel(site, self.config.learning, self.config.bounds)
        return SiteShard(model, self.config, self.crawl_wide, self.examples_of(site))

    def examples_of(self, site: str) -> list[ExamplePage]:
        """Return the example pages of a site, and those whose URL is not known."""
        return [page for page in self.config.examples if not page.url or self.site_of(page.url) == site]

    def site_of(self, url: str) -> str:
        """Return the site a URL belongs to: host with port, or registrable domain in scope ``domain``."""
        host = host_of(url)
        return self._domain_of(host) if self.config.scope == "domain" else host

    def site_of_ticket(self, raw: bytes) -> str:
        """Return the site whose model wrote a ticket; empty if missing, foreign or of a dropped site."""
        ticket = self._book.read(raw)
        return self._hosts.get(ticket.site, "") if ticket is not None else ""

    def _fetch(self, seq: int, event: PageFetched) -> Fetch:
        features = event.features
        ticket = self._book.read(event.ticket) or NO_TICKET
        mine = ticket is not NO_TICKET and self._hosts.get(ticket.site) == event.site
        return Fetch(
            seq=seq,
            url=event.url,
            key=hash_of(features.key) if features else hash_of(event.requested_key),
            requested=hash_of(event.requested_key),
            requested_key=event.requested_key,
            canonical=hash_of(features.canonical_key or features.key) if features else 0,
            features=features,
            link_keys=[hash_of(key) for key in features.links.keys] if features else [],
            in_scope=self._in_scope(event) if features else [],
            page_links=page_links_of(features.url, features.links) if features else [],
            source=ticket.source if mine else 0,
            apath=ticket.apath if mine else UNKNOWN_APATH,
            depth=None if ticket is NO_TICKET else ticket.depth,
            seed=self.config.seed,
        )

    def _in_scope(self, event: PageFetched) -> Sequence[int]:
        urls = event.features.links.urls if event.features else []
        if self.config.scope == "any":
            return [row for row, url in enumerate(urls) if url]
        roots: dict[str, bool] = {}
        rows = []
        for row, url in enumerate(urls):
            root = url[: url.find("/", 8)] if "/" in url[8:] else url
            if root not in roots:
                roots[root] = bool(root) and self.site_of(url) == event.site
            if roots[root]:
                rows.append(row)
        return rows
