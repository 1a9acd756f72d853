"""When to fetch pages again: what changed of them, how often they change, and what another fetch is worth.

`rates` learns from changed and unchanged and says what a fetch is worth, `changes` what a fetch found,
`signals` what dates and notices are worth, `pages` is the compact table of known pages, `site` puts them
together; `listings` reads sitemaps and feeds. Time comes with fetches.
"""
