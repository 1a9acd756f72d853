"""A crawl as tables for analysts, in Parquet: rows go into files of JSON lines, of which DuckDB makes tables.

docs/guides/tables.md says what the columns mean. A page is named by the hash of its identity.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import msgspec

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import ConfigChanged, FeedbackGiven, PageFetched, decode
from linkscore_scoring.engine.links import TicketBook
from linkscore_scoring.engine.reports import group_history
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.hashing import hash_of
from linkscore_scoring.site.crawl_history import Group, History
from linkscore_server.crawls.opening import opened
from linkscore_server.groups import Shard
from linkscore_server.services.sites import templates_of
from linkscore_server.store import Store, StoredShard
from linkscore_server.store.moving import keys_of

_DDL = {
    "fetches": (
        "shard UTINYINT, seq UBIGINT, site VARCHAR, url VARCHAR, requested VARCHAR, page UBIGINT, "
        "source_page UBIGINT, status_code INTEGER, fetch_error VARCHAR, fetched_at DOUBLE"
    ),
    "pages": (
        "shard UTINYINT, seq UBIGINT, site VARCHAR, url VARCHAR, page UBIGINT, canonical VARCHAR, "
        "charset VARCHAR, noindex BOOLEAN, text_blocks UINTEGER, text_chars UINTEGER, "
        "links UINTEGER"
    ),
    "links": (
        "shard UTINYINT, seq UBIGINT, position UINTEGER, page UBIGINT, url VARCHAR, target UBIGINT, "
        "anchor VARCHAR, link_path VARCHAR, rel VARCHAR"
    ),
    "rewards": (
        "shard UTINYINT, seq UBIGINT, site VARCHAR, url VARCHAR, page UBIGINT, source_page UBIGINT, "
        "reward DOUBLE, reported_at DOUBLE"
    ),
    "arms": (
        "shard UTINYINT, site VARCHAR, url_pattern VARCHAR, tag_path VARCHAR, "
        "waiting UBIGINT, fetched UBIGINT, reported UBIGINT, early_reward DOUBLE, late_reward DOUBLE"
    ),
    "templates": (
        "shard UTINYINT, site VARCHAR, template VARCHAR, sample_pages UINTEGER, crawled_pages UBIGINT, "
        "judged UBIGINT, reward DOUBLE, min_depth UINTEGER, example_url VARCHAR"
    ),
    "judged": "shard UTINYINT, site VARCHAR, page UBIGINT, number UBIGINT, reward DOUBLE",
}
TABLES = {name: dict(column.split(" ") for column in columns.split(", ")) for name, columns in _DDL.items()}
"""Columns by table."""
OF_EVENTS = ("fetches", "pages", "links", "rewards")
"""Tables made of events; the others are made of what the crawl knows."""
_MEMORY_MB = 256  # of DuckDB; what does not fit goes to the disk; chosen, not measured

Row = tuple[str, Sequence[object]]
"""Its table, and values in the order of the columns after `shard`."""


def write_tables(store: Store, crawl: str, folder: Path, *, events_only: bool) -> dict[str, int]:
    """Write a file for each table; those that are there are replaced when all new ones are whole.

    Returns rows by table. Raises NotFound if the store has no such crawl.
    """
    keys = keys_of(store, crawl)
    names = OF_EVENTS if events_only else tuple(TABLES)
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".linkscore-tables-", dir=folder) as between:
        with ExitStack() as files:
            lines = {name: files.enter_context(open(f"{between}/{name}.json", "wb")) for name in names}
            for key in keys:
                for name, values in _rows(store, store.open(key), events_only=events_only):
                    row = dict(zip(TABLES[name], (Shard.of(key).group, *values), strict=True))
                    lines[name].write(msgspec.json.encode(row) + b"\n")
        config: dict[str, Any] = {"memory_limit": f"{_MEMORY_MB}MiB", "temp_directory": between, "threads": 1}
        with duckdb.connect(config=config) as con:
            counts = {name: _write(con, name, f"{between}/{name}") for name in names}
        for name in names:
            os.replace(f"{between}/{name}.parquet", folder / f"{name}.parquet")
    return counts


def _write(con: duckdb.DuckDBPyConnection, name: str, path: str) -> int:
    """Make a file of Parquet of one of JSON; returns its rows."""
    read = con.read_json(f"{path}.json", columns=TABLES[name], format="newline_delimited")
    read.write_parquet(f"{path}.parquet", compression="zstd")
    ((count,),) = con.read_parquet(f"{path}.parquet").count("*").fetchall()
    return int(count)


def _rows(store: Store, shard: StoredShard, *, events_only: bool) -> Iterator[Row]:
    secret = store.secret()
    book = TicketBook(secret, "")
    for stored in shard.events():
        event = decode(stored.body)
        if isinstance(event, ConfigChanged):
            book = TicketBook(secret, CrawlConfig.from_state(event.config).ticket_scope)
        elif isinstance(event, PageFetched):
            yield from _of_page(stored.seq, event, _source(book, event.ticket))
        elif isinstance(event, FeedbackGiven):
            page, source = hash_of(event.key) if event.key else None, _source(book, event.ticket)
            yield "rewards", (stored.seq, event.site, event.key, page, source, event.reward, event.now_s)
    if not events_only:
        model = opened(shard, ticket_key=secret)
        for name in list(model.sites):
            for table, values in _of_site(model.sites[name]):
                yield table, (name, *values)


def _source(book: TicketBook, raw: bytes) -> int | None:
    ticket = book.read(raw) if raw else None
    return ticket.source if ticket is not None else None


def _of_page(seq: int, event: PageFetched, source: int | None) -> Iterator[Row]:
    features = event.features
    page = hash_of(event.requested_key if features is None else features.key)
    known = (seq, event.site, event.url, event.requested_key, page, source)
    yield "fetches", (*known, event.status_code, event.fetch_error, event.now_s)
    if features is None:
        return
    told = (features.canonical_key, features.charset, features.noindex)
    sizes = (len(features.block_hashes), features.text_chars, len(features.links))
    yield "pages", (seq, event.site, event.url, page, *told, *sizes)
    links = features.links
    columns = zip(links.urls, links.keys, links.anchors, links.link_paths, links.rels, strict=True)
    for at, (url, key, anchor, path, rel) in enumerate(columns):
        yield "links", (seq, at, page, url, hash_of(key), anchor, links.link_path_table[path], rel)


def _of_site(site: SiteShard) -> Iterator[Row]:
    yield from (("arms", arm) for arm in _arms(site))
    for one in templates_of(site.model, 0):
        counts = (one.sample_pages, one.crawled_pages, one.judged_count, one.reward)
        yield "templates", (one.name, *counts, one.min_depth, one.example_url)
    yield from (("judged", row) for row in site.model.history.judged())


def _arms(shard: SiteShard) -> Iterator[Sequence[object]]:
    """Yield groups of links, those first of which most wait."""
    site, waiting = shard.model, Counter[Group]()
    for (pattern, path), count in site.waiting_links().items():
        waiting[site.patterns.resolve(pattern), path] += count
    histories, names = site.history.groups_now(site.patterns), site.link_paths.folded_names()
    for group in dict.fromkeys((*sorted(waiting, key=lambda group: -waiting[group]), *histories)):
        found = group_history(site, group, histories.get(group) or History(), waiting[group], names)
        counts = (found.waiting_count, found.fetched_count, found.reported_count)
        yield (found.url_pattern, found.tag_path, *counts, found.early_reward, found.late_reward)
