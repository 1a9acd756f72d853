"""The crawls of a server: each has one actor that writes it, and the registry has the actors.

`actor` makes events durable and applies them, `registry` creates, finds, changes and deletes crawls,
`opening` reads them from the store, `libraries` imports what they need, `lease` says whether they are
still of this process, `collector` counts their sites when Prometheus asks.
"""

from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.registry import CrawlExists, CrawlNotFound, CrawlRegistry
from linkscore_server.crawls.writer import CrawlClosed

__all__ = ["CrawlActor", "CrawlClosed", "CrawlExists", "CrawlNotFound", "CrawlRegistry"]
