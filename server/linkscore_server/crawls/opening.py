"""A crawl as the store has it: opened by its newest core and rows, or replayed from its first event.

Libraries that some crawls need are imported when one is made or opened, and never on the event loop.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged, decode
from linkscore_scoring.engine.shard import CrawlWide
from linkscore_scoring.errors import CorruptState
from linkscore_scoring.state import packed
from linkscore_server.crawls.sites import MemoryBudget, StoredCrawl, apply_again
from linkscore_server.groups import Shard
from linkscore_server.store import Store, StoredEvent, StoredShard


def load_libraries(config: CrawlConfig) -> None:
    """Import what the crawl would import while it serves, which takes seconds; blocks."""
    config.policy.made().load_libraries()
    if config.scope == "domain":
        _suffixes()


def registrable_domain(host: str) -> str:
    """Return the registrable domain of a host, or the host itself if it is a suffix or an address; slow once.

    Goes by the public suffix list that comes with tldextract: nothing is fetched.

    Examples
    --------
    >>> [registrable_domain(host) for host in ("a.b.co.uk", "me.github.io", "wiki.corp.internal")]
    ['b.co.uk', 'me.github.io', 'corp.internal']
    """
    found = _suffixes()(host)
    if found.suffix or found.ipv4 or found.ipv6:
        return str(found.top_domain_under_public_suffix or host)
    labels = host.partition(":")[0].rstrip(".").split(".")
    return ".".join(labels[-2:]) if len(labels) > 1 else host


@cache
def _suffixes() -> Any:
    import tldextract  # a third of all imports of the server: scope `domain` and redirects pay for it

    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


_log = logging.getLogger(__name__)
_AT_A_TIME = 8
"""Sites forgotten at a time while events are applied. Chosen, not measured."""


def opened(
    shard: StoredShard,
    *,
    ticket_key: bytes,
    budget: MemoryBudget | None = None,
    go_on: Callable[[int], None] = lambda seq: None,
) -> StoredCrawl:
    """Return a crawl as of its last event: its core, then the events after that; blocks.

    Sites are read when somebody asks for them. Without a usable core all events are applied.
    """
    config = CrawlConfig(Shard.of(shard.key).crawl)
    make = partial(
        StoredCrawl, config, shard, ticket_key=ticket_key, domain_of=registrable_domain, budget=budget
    )
    model = make()
    try:
        events = _begun(model, shard)
    except CorruptState as exc:
        _log.error("%s; the crawl is opened from its first event", exc)
        model, events = make(), shard.events()
    for event in events:
        go_on(event.seq)
        _apply(model, shard, event)
    model.take_jobs()
    return model


def _begun(model: StoredCrawl, shard: StoredShard) -> Iterator[StoredEvent]:
    """Have a crawl take over core and rows, and return the events after that; CorruptState if it cannot."""
    core, rows = shard.core(), list(shard.sites())
    if core is None or any(row.seq > core.seq for row in rows):
        return shard.events()
    later = list(shard.events(after=core.seq))
    began, behind = Counter(event.site for event in later), shard.behind()
    new = {event.id for event in later}
    model.load_core(core, (id for id in shard.ids() if id not in new))
    model.config.policy.checked()  # NotFound if it is not registered
    for row in rows:
        before = behind.get(row.site, 0) - began[row.site]
        if row.seq or before:  # else the first event is still to be applied
            facts = row.facts if row.seq and not before else None
            model.sites.enter(row.site, row.seq, row.size, facts, before)
    return iter(later)


def replayed(
    shard: StoredShard,
    *,
    ticket_key: bytes,
    until: int | None = None,
) -> CrawlModel:
    """Return a crawl by its events alone, up to and with `until`; for tests and `linkscore data check`."""
    config = CrawlConfig(Shard.of(shard.key).crawl)
    model = CrawlModel(config, ticket_key=ticket_key, domain_of=registrable_domain)
    for stored in shard.events(until=until):
        apply_again(model, stored.seq, decode(stored.body))
        model.take_jobs()
    return model


def config_of(shard: StoredShard) -> CrawlConfig:
    """Return the configuration of a crawl as of its last event, whoever has it open; blocks.

    KeyError if it was erased meanwhile.
    """
    for stored in reversed(list(shard.events(site=""))):
        if isinstance(event := decode(stored.body), ConfigChanged):
            return CrawlConfig.from_state(event.config)
    if shard.is_erased:
        raise KeyError(shard.key)
    raise CorruptState(f"crawl {shard.key!r}: holds no configuration")


def unlike_their_replay(store: Store) -> Iterator[str]:
    """Yield each shard that is opened in another state than its events alone lead to."""
    for key in store.shards():
        shard, secret = store.open(key), store.secret()
        as_opened = opened(shard, ticket_key=secret)
        if digest_of(as_opened) != digest_of(replayed(shard, ticket_key=secret)):
            yield f"crawl {key}: its states, and the events after them, differ from its events alone"


def digest_of(model: CrawlModel) -> str:
    """Return a checksum of all that a crawl knows."""
    return hashlib.blake2b(packed(model.to_state()), digest_size=16).hexdigest()


def _apply(model: StoredCrawl, shard: StoredShard, stored: StoredEvent) -> None:
    """Apply an event to a crawl that keeps within its memory."""
    try:
        event = decode(stored.body)
    except CorruptState as exc:
        raise CorruptState(
            f"crawl {shard.key!r}: event {stored.seq} is not one of this version: {exc}"
        ) from exc
    sites, becomes = model.sites, False
    if isinstance(event, ConfigChanged):
        config = CrawlConfig.from_state(event.config)
        config.policy.checked()
        becomes = model.is_wide != (CrawlWide(config).known is not None)
    sites.bring_back(sites if becomes else [stored.site])
    apply_again(model, stored.seq, event, size=len(stored.body))
    if becomes and model.applied > 1:
        model.write_all(list(sites))
    while sites.budget.is_over:
        if model.is_wide and sites.changed_bytes():
            model.write_all(list(sites.changed_bytes()))
        oldest = sites.oldest(_AT_A_TIME, lambda name: True, is_clean=model.is_wide)
        for name in oldest:
            sites.forget(name)
        if not oldest:
            break
