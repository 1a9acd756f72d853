"""Calls answered whoever has what they are about: this process, another one, or several of them.

`front` puts it together, `router` finds who has a crawl, `scatter_gather`, `fan_out` take calls
about crawls in several parts apart and put answers together, `coordinator` makes, changes and deletes all
parts of a crawl; `owners` is who answers for a part and how others are asked, `questions` what they are asked
beside the contract, `serving` how they are answered, `cluster` who has what over one PostgreSQL.
"""
