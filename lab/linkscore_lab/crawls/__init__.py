"""Real Scrapy crawls of a site, breadth-first and under policies: the demonstration, `linkscore demo`.

It crawls a `testbed`, which serves the site (`servers`), runs Scrapy in a `child` process (`crawl`, `spider`)
and computes the figures.
"""

# Import a module: a crawl process imports this package and wants to start quickly.
__all__: list[str] = []
