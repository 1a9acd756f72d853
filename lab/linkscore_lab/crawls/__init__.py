"""Real Scrapy crawls of a site, breadth-first and under policies: the demonstration, `linkscore demo`."""

# Import a module: a crawl process imports this package and wants to start quickly.
__all__: list[str] = []
