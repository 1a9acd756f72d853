"""Calls answered whoever has what they are about: this process, another one, or several of them.

`front` puts it together. `router` finds who has a crawl, makes, changes and deletes crawls; `fan_out` takes
calls about crawls in several groups apart and puts answers together. `owners` is who answers for a shard and
how others are asked, `workers` several processes at one port.
"""
