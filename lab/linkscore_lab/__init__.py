"""Replay, demonstration and measuring tools; may read files and labels, which the library may not.

Rooms: `archives` (WARC, WACZ, folders), `datasets` (sites, labels, what is relevant), `replay` (stored
sites crawled again), `metrics` and `report` (its figures and their page), `quality` (the gate over them),
`crawls` (real Scrapy, for the demonstration), `experiments` (other real crawlers), `browse_logs`,
`conformance`, and `commands`, which adds all that to the command line.
"""

# Import a room: each needs other libraries.
__all__: list[str] = []
