"""linkscore for agents: tools over the Model Context Protocol, `linkscore mcp`.

`crawl` is what an agent does with a site, within a budget; `command` gives it to agents as tools.
"""
