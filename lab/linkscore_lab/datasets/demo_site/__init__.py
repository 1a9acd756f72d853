"""The bundled demonstration site: a hobby community with what makes real ones hard to crawl.

Threads with pages, profiles, tag pages with excerpts - and sort orders, permalinks, log-in links and a
calendar that outnumber them. Every page is rendered from its URL alone; nothing is stored.
"""

from linkscore_lab.datasets.demo_site.site import USER_CONTENT, DemoSite

__all__ = ["USER_CONTENT", "DemoSite"]
