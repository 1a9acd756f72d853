"""Replay and demonstration; may read files and labels, which the library may not.

`archives` (WARC, WACZ, folders), `datasets` (sites, labels, what is relevant), `replay` (stored sites crawled
again), `metrics` and `report` (its figures and their page), `crawls` (real Scrapy, for the demonstration),
`experiments` (other real crawlers), `conformance`, and `commands`, which adds all that to the command line.
"""
