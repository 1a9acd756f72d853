"""Rows of the tables: of the events of a log one after the other, and of the state that they led to."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from linkscore_scoring.columns import drop_oldest
from linkscore_scoring.engine import reports as inspection
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import MAX_EVENT_IDS, CrawlModel, repeat_id
from linkscore_scoring.engine.events import ConfigChanged, Event, FeedbackGiven, PageFetched
from linkscore_scoring.engine.links import TicketBook
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.hashing import hash_of
from linkscore_server.services.results import cluster_name, decision_name
from linkscore_server.tables.files import Tables

_ALL = 1 << 30
"""Of a list that is asked for whole."""


class EventRows:
    """Makes rows of the events of a shard."""

    def __init__(self, tables: Tables, shard: int, ticket_key: bytes) -> None:
        self._tables, self._shard, self._key = tables, shard, ticket_key
        self._book = TicketBook(ticket_key, "")
        self._ids: OrderedDict[str, None] = OrderedDict()

    def add(self, seq: int, event: Event) -> None:
        """Add the rows of one event; other events than pages and feedback have none."""
        if isinstance(event, ConfigChanged):
            self._book = TicketBook(self._key, CrawlConfig.from_state(event.config).ticket_scope)
        elif isinstance(event, PageFetched):
            self._fetched(seq, event)
        elif isinstance(event, FeedbackGiven):
            page = hash_of(event.key) if event.key else None
            row = (self._shard, seq, event.site, event.key, page, self._source(event.ticket))
            self._tables.add("rewards", [(*row, event.reward, event.now_s, self._is_repeat(event))])

    def _fetched(self, seq: int, event: PageFetched) -> None:
        features, is_repeat = event.features, self._is_repeat(event)
        page = hash_of(event.requested_key if features is None else features.key)
        row: tuple[object, ...] = (self._shard, seq, event.site, event.url, event.requested_key, page)
        row += (self._source(event.ticket), event.status_code, event.fetch_error, event.now_s, is_repeat)
        self._tables.add("fetches", [row])
        if features is None or is_repeat:
            return
        self._tables.add(
            "pages",
            [
                (
                    *(self._shard, seq, event.site, event.url, page),
                    *(features.canonical_key, features.title, features.charset, features.nofollow),
                    *(len(features.block_hashes), features.text_chars, features.anchor_chars),
                    len(features.links),
                )
            ],
        )
        links = features.links
        paths = [links.link_path_table[at] for at in links.link_paths]
        columns = zip(links.urls, links.keys, links.anchors, paths, links.rels, strict=True)
        self._tables.add(
            "links",
            (
                (self._shard, seq, at, page, url, hash_of(key), anchor, path, rel)
                for at, (url, key, anchor, path, rel) in enumerate(columns)
            ),
        )

    def _source(self, raw: bytes) -> int | None:
        ticket = self._book.read(raw) if raw else None
        return ticket.source if ticket is not None else None

    def _is_repeat(self, event: Event) -> bool:
        """Say whether a crawl passes an event over, as `CrawlModel` does."""
        name = repeat_id(event)
        if name and name in self._ids:
            return True
        if name:
            self._ids[name] = None
            drop_oldest(self._ids, MAX_EVENT_IDS)
        return False


def add_state(tables: Tables, shard: int, model: CrawlModel) -> None:
    """Add what a crawl knows of its sites, one site after the other."""
    for name in list(model.sites):
        site = model.sites[name]
        tables.add("arms", ((shard, name, *row) for row in _arms(site)))
        tables.add(
            "templates",
            (
                (
                    *(shard, name, cluster_name(one.id), one.size, one.crawled, one.judged),
                    *(one.reward, one.dsim, one.min_depth, one.example),
                )
                for one in inspection.templates(site.model, 0, _ALL, 0)
            ),
        )
        tables.add("decisions", [(shard, name, *_decision(model, site))])
        judged = site.model.history.judged()
        tables.add("judged", ((shard, name, page, at, reward) for page, at, reward in judged))


def _decision(model: CrawlModel, shard: SiteShard) -> tuple[object, ...]:
    """Return which policy a site has, and whether it goes on, as `GetSite` says; None without a budget."""
    row = (shard.served.name, shard.model.history.fetches)
    if model.limits.budget is None:
        return (*row, *(None,) * 5)
    standing = model.standing(shard)
    stop, found = standing.site or standing.crawl, standing.coverage
    shares = (None,) * 3 if found is None else (found.share, found.low, found.high)
    return (*row, decision_name(stop), stop.reason if stop else None, *shares)


def _arms(shard: SiteShard) -> Iterator[tuple[object, ...]]:
    """Yield groups of links that wait, best first, then those of which none is left."""
    site, told = shard.model, set[tuple[str, str]]()
    for one in inspection.buckets(shard, shard.served, 0, inspection.MAX_VALUED).buckets:
        links = one.group
        told.add((links.url_pattern, links.tag_path))
        yield (
            *(links.url_pattern, links.tag_path, one.bucket, one.value, links.waiting),
            *(links.fetched, links.reported, links.early, links.late),
        )
    waiting, names = site.waiting_links(), site.link_paths.folded_names()
    for group, history in site.history.groups_now(site.patterns).items():
        pattern, tag_path = site.patterns.text(group[0]), names.get(group[1], "")
        if (pattern, tag_path) in told:
            continue
        total = history.total()
        early, late = (half.worth(by_reward=site.history.by_reward) for half in history.halves())
        yield (
            *(pattern, tag_path, None, None, waiting[group]),
            *(round(total.fetched), round(total.reported), early, late),
        )
