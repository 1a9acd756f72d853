"""The crawls of a server: each that is open has one actor, and the registry knows all.

`actor` makes events durable and applies them, `sites` says which sites of a crawl are in memory, `opening`
reads one from the store. `registry` says which crawls there are, opens, makes and deletes them, and counts
their sites when Prometheus asks.
"""
