"""Real Scrapy keeps a living site fresh: ``python -m linkscore_research.revisits scrapy``.

Each run has ``LINKSCORE_REVISIT`` and one job directory; see `living_crawls`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

from linkscore_research.revisits.living_crawls import PATIENCE_S, Run, compare

_SPIDER = """
import json, sys
from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess

class Site(Spider):
    name = "living"

    async def start(self):
        if not self.state.get("begun"):
            self.state["begun"] = True
            yield Request(sys.argv[1] + "/")

    def parse(self, response):
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href)

process = CrawlerProcess(json.loads(sys.argv[2]))
crawler = process.create_crawler(Site)
process.crawl(crawler)
process.start()
sys.exit(0 if crawler.stats and crawler.stats.get_value("linkscore/pages") else "the server took no page in")
"""


def main(argv: Sequence[str]) -> None:
    """Print a line a site."""
    compare(crawl, "python -m linkscore_research.revisits scrapy", __doc__, argv)


def crawl(run: Run) -> None:
    """Let Scrapy run once."""
    command = [sys.executable, "-c", _SPIDER, run.site, json.dumps(_settings(run))]
    subprocess.run(command, check=True, timeout=PATIENCE_S)  # noqa: S603 - our own program


def _settings(run: Run) -> dict[str, object]:
    return {
        "SPIDER_MIDDLEWARES": {"linkscore.scrapy.LinkscoreMiddleware": 40},
        "SCHEDULER_PRIORITY_QUEUE": "linkscore.scrapy.BucketQueue",
        "LINKSCORE_TARGET": run.target,
        "LINKSCORE_TIMEOUT": 60.0,
        "LINKSCORE_REQUIRED": True,
        "LINKSCORE_REVISIT": {"fetches_per_day": run.pages / run.every},
        "LINKSCORE_REVISIT_PAGES": run.pages,
        "JOBDIR": str(run.folder),
        "CONCURRENT_REQUESTS": 4,
        "DOWNLOAD_DELAY": 0,
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,
    }
