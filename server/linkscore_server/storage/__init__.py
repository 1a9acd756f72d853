"""What a server must not lose: of each crawl an append log of events and a snapshot.

`Store` is the seam; `FileStore` (one folder, the default) and `MemoryStore` (tests, crawls that need not
survive) stand behind it. Everything blocks: the server calls it in threads. The room knows events and visits
as bytes and tables, and neither what they mean nor where they come from. `formats` lists every kind of file.
"""

from linkscore_server.storage.base import CrawlLog, Snapshot, Store
from linkscore_server.storage.files import FileStore
from linkscore_server.storage.memory import MemoryStore

__all__ = ["CrawlLog", "FileStore", "MemoryStore", "Snapshot", "Store"]
