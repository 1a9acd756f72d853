"""One real Scrapy crawl, run in a process of its own; `linkscore_lab.experiments.scrapy.crawl` starts it."""
