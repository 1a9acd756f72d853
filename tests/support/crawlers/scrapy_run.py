"""Real Scrapy crawls, each in a process of its own."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from support.forked import Script

_SPIDER = """
import json, sys
from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import DropItem
from linkscore import session

base, settings = sys.argv[1], json.loads(sys.argv[2])
for name in ("PATIENCE_S", "PROBE_FIRST_S", "PROBE_LONGEST_S", "PROBE_TIMEOUT_S"):
    if name in settings:
        setattr(session, name, settings.pop(name))

class Drop:
    def process_item(self, item, spider=None):
        if item.get("drop"):
            raise DropItem("told to")
        return item

class Site(Spider):
    name = "Site Spider"
    start_urls = [base + path for path in settings.pop("START", ["/"])]

    def parse(self, response):
        if "/thread/" in response.url:
            yield {"url": response.url, "drop": response.url.endswith("/drop")}
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href)
        if response.url.endswith("/home"):
            for path in self.settings.getlist("BUILT"):
                yield Request(base + path)

process = CrawlerProcess({
    "SPIDER_MIDDLEWARES": {"linkscore.scrapy.LinkscoreMiddleware": 40},
    "SCHEDULER_PRIORITY_QUEUE": "linkscore.scrapy.BucketQueue",
    "LOG_LEVEL": "INFO", "TELNETCONSOLE_ENABLED": False, "ROBOTSTXT_OBEY": False, "DOWNLOAD_DELAY": 0,
    "LINKSCORE_TIMEOUT": 60, "RETRY_TIMES": 1, "ITEM_PIPELINES": {Drop: 1}, **settings,
})
crawler = process.create_crawler(Site)
process.crawl(crawler)
process.start()
stats = crawler.stats.get_stats() if crawler.stats else {}
print(json.dumps({k: v for k, v in stats.items() if isinstance(v, (int, float, str))}))
"""


class Run(NamedTuple):
    """How a crawl ended: the stats of Scrapy, and its log."""

    stats: dict[str, Any]
    log: str

    @property
    def said(self) -> list[str]:
        """What linkscore said, without the time."""
        lines = self.log.splitlines()
        return [line.partition("[linkscore] ")[2] for line in lines if "[linkscore] " in line]


def start(base: str, **settings: Any) -> Script:
    """Begin to crawl a site from `START` paths, following all links."""
    return Script(_SPIDER, base, json.dumps(settings))


def finish(script: Script) -> Run:
    """Wait for the end of a crawl."""
    code, out, log = script.finish()
    assert code == 0, log
    return Run(json.loads(out.splitlines()[-1]), log)


def crawl(base: str, **settings: Any) -> Run:
    """Crawl a site."""
    return finish(start(base, **settings))
