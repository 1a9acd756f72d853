"""Scrapy support: three settings put a crawl's links in the order linkscore advises.

::

    SPIDER_MIDDLEWARES = {"linkscore.scrapy.LinkscoreMiddleware": 40}
    SCHEDULER_PRIORITY_QUEUE = "linkscore.scrapy.BucketQueue"
    LINKSCORE_TARGET = "localhost:7411"

    LINKSCORE_OBSERVE_ONLY = True   # the fourth: send everything, change nothing

Needs Scrapy >= 2.13 on the asyncio reactor, its default. Further settings are in `linkscore.scrapy.config`.

A response goes through `middleware` to `session`, which tells the server, puts its answer on the spider's
Requests and looks at Scrapy's engine. The scheduler's `queue` keeps the order.
"""

from __future__ import annotations

from linkscore.scrapy.middleware import LinkscoreMiddleware
from linkscore.scrapy.queue import BucketQueue
from linkscore.scrapy.session import page_note

__all__ = ["BucketQueue", "LinkscoreMiddleware", "page_note"]
