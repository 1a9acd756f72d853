"""One real Scrapy crawl, run in a process of its own; `linkscore_lab.crawls.crawl` starts it."""

# Run it: `python -m linkscore_lab.crawls.spider PLAN`.
__all__: list[str] = []
