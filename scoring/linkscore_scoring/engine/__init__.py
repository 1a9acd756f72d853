"""One crawl: events in, answers out.

`CrawlModel` is the state and changes by events only, so that the same events give the same state;
`CrawlQueries` reads it. Each site is a `SiteShard`: its model, and the policies that learn on it.
"""

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import Event, decode, encode
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.engine.results import LinkExplained, PageClassified, PageOutcome, ScoredLinks
from linkscore_scoring.engine.shard import SiteShard

__all__ = [
    "CrawlConfig",
    "CrawlModel",
    "CrawlQueries",
    "Event",
    "LinkExplained",
    "PageClassified",
    "PageOutcome",
    "PolicyChoice",
    "ScoredLinks",
    "SiteShard",
    "decode",
    "encode",
]
