"""The crawls of a server: each that is open has one actor, and the registry knows all.

`actor` holds one together: `writer` makes events durable and applies them, `learning` and `snapshots` run
beside. `registry` says which crawls there are, `open_crawls` opens and closes them (`opening` reads them from
the store, `libraries` imports what they need, `lease` says whether they are still of this process), `changes`
creates, changes and deletes them. `collector` counts their sites when Prometheus asks.
"""

from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.changes import CrawlExists
from linkscore_server.crawls.open_crawls import CrawlNotFound
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.crawls.writer import CrawlClosed

__all__ = ["CrawlActor", "CrawlClosed", "CrawlExists", "CrawlNotFound", "CrawlRegistry"]
