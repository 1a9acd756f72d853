"""One real Scrapy crawl, run in a process of its own; `linkscore_lab.experiments.scrapy.crawl` starts it."""

# Run it: `python -m linkscore_lab.experiments.scrapy.spider PLAN`.
__all__: list[str] = []
