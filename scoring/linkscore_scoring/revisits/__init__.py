"""When to fetch pages again: what changed of them, how often they change, and what another fetch is worth.

`rates` learns from changed and unchanged, from dates and notices, and says what a fetch is worth, and which
sites that are not in memory have pages that are due; `pages` is the table of known pages, and what a fetch
found; `site` puts them together; `listings` reads sitemaps and feeds. Time comes with fetches.
"""
