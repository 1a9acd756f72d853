"""The SQL store: events of all crawls, states of their sites, and who has which; one schema, two engines.

Start with `store.py`: what a crawl asks, and the thread that writes it. `sqlite.py` and `postgres.py` are the
engines, `schema.py` is all SQL that both understand. Nothing here knows what an event or a state says.
"""

from linkscore_server.store.base import (
    Core,
    Fenced,
    NewEvent,
    SiteFacts,
    SiteRow,
    StoreAway,
    StoredEvent,
)
from linkscore_server.store.store import Store, StoredShard, open_store

__all__ = [
    "Core",
    "Fenced",
    "NewEvent",
    "SiteFacts",
    "SiteRow",
    "Store",
    "StoreAway",
    "StoredEvent",
    "StoredShard",
    "open_store",
]
