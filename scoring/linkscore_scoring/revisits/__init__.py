"""When to fetch pages again: what changed of them, how often they change, and what another fetch is worth.

`rates` learns from changed and unchanged, `shared` what pages of one kind have in common, `worth` says what a
fetch is worth and what the best plan would reach, `rules` are the schedules found by name, `pages` is the
compact table of known pages, `site` puts them together for one site. Time comes with each fetch.
"""
