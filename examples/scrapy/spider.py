"""Crawl one site in the order of a linkscore server: ``scrapy runspider spider.py -a start=URL``."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from scrapy import Spider
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor


class Forum(Spider):
    """Follow every link of a site and take what was posted."""

    name = "forum"
    custom_settings = {  # noqa: RUF012
        # These three lines are all that linkscore needs.
        "SPIDER_MIDDLEWARES": {"linkscore.scrapy.LinkscoreMiddleware": 40},
        "SCHEDULER_PRIORITY_QUEUE": "linkscore.scrapy.BucketQueue",
        "LINKSCORE_TARGET": "localhost:7411",
        # The crawl ends after so many pages; a site takes few requests at once.
        "CLOSESPIDER_PAGECOUNT": 200,
        "CONCURRENT_REQUESTS": 2,
        "LOG_LEVEL": "INFO",
    }

    def __init__(self, start: str, **more: Any) -> None:
        super().__init__(**more)
        self.start_urls = [start]
        self.links = LinkExtractor(allow_domains=[urlsplit(start).netloc])

    def parse(self, response: Response, **more: Any) -> Iterator[Any]:
        """Yield one item per page with posts, and all links."""
        if posts := response.css(".post p::text").getall():
            yield {"url": response.url, "posts": len(posts)}
        for link in self.links.extract_links(response):
            yield response.follow(link)
