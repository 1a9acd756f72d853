"""Crawl by the plan named on the command line: fetches to standard output, Scrapy's log to standard error."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from scrapy.crawler import CrawlerProcess

from linkscore_lab.crawls.child import leave_with_parent
from linkscore_lab.crawls.spider.plan import SpiderPlan
from linkscore_lab.crawls.spider.spider import EveryLinkSpider

_HERE = "linkscore_lab.crawls.spider"
BASE_SETTINGS: dict[str, Any] = {
    "CONCURRENT_REQUESTS": 1,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOADER_MIDDLEWARES": {f"{_HERE}.spider.BudgetMiddleware": 10},
    "SPIDER_MIDDLEWARES": {f"{_HERE}.spider.DropUnknownLinks": 500},
    "REQUEST_FINGERPRINTER_CLASS": f"{_HERE}.spider.IdentityFingerprinter",
    "HTTPERROR_ALLOW_ALL": True,
    "METAREFRESH_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "URLLENGTH_LIMIT": 0,
    "LOG_LEVEL": "INFO",
}


def crawl_settings(plan: SpiderPlan) -> dict[str, Any]:
    """Return Scrapy's settings for `plan`: the base, then its mode; tables of components are merged."""
    settings = dict(BASE_SETTINGS)
    if plan.via:
        handler = f"{_HERE}.spider.StoredSiteHandler"
        settings["DOWNLOAD_HANDLERS"] = {"http": handler, "https": handler}
    for name, value in plan.settings.items():
        base = settings.get(name)
        settings[name] = {**base, **value} if isinstance(base, dict) else value
    if settings["CONCURRENT_REQUESTS"] == 1:
        # No request leaves the queue before the links of the page before it are in it.
        settings.setdefault("SCRAPER_SLOT_MAX_ACTIVE_SIZE", 0)
    return settings


def main() -> None:
    """Run one crawl and print its stats as the last line."""
    plan = SpiderPlan.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    leave_with_parent()
    process = CrawlerProcess(crawl_settings(plan))
    crawler = process.create_crawler(EveryLinkSpider)
    print("ready", flush=True)
    process.crawl(crawler, plan=plan)
    process.start()
    if process.bootstrap_failed:
        sys.exit("the crawl did not start; its log says why")
    print(json.dumps({"stats": crawler.stats.get_stats()}, default=str), flush=True)


if __name__ == "__main__":
    main()
