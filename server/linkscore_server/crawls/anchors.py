"""By which text pages were linked: for people who are asked about them. Not part of the state of a crawl."""

from __future__ import annotations

from linkscore_scoring.columns import drop_oldest
from linkscore_scoring.engine.events import PageFetched

MAX_CHARS = 120
"""A bound: characters of a text that are kept."""
MAX_LINKS = 16_384
"""A bound: URLs whose text is kept until they are fetched, the latest; 3 MB at texts of 60 characters, about
what the model of the crawl holds of as many links."""
MAX_PAGES = 4_096
"""A bound: fetched pages whose text is kept, the latest; more than a policy asks about."""


class AnchorTexts:
    """The longest anchor text of the latest links of a crawl.

    It lives as long as its crawl is open: after a restart it has none.
    """

    def __init__(self) -> None:
        # By `hash`, which a string remembers: a collision would show a wrong text once in 10^11 looks.
        self._links: dict[int, str] = {}
        self._pages: dict[int, str] = {}

    def see(self, event: PageFetched, url: str) -> None:
        """Take in the links of a page, and move the text by which it was found itself to its `url`."""
        text = self._links.pop(hash(event.requested_key), "")
        if text:
            self._pages[hash(url)] = text
            drop_oldest(self._pages, MAX_PAGES)
        if event.features is None:
            return
        links = self._links
        for key, text in zip(map(hash, event.features.links.keys), event.features.links.anchors, strict=True):
            known = links.get(key, "")
            if len(text) > len(known) and len(known) < MAX_CHARS:
                links[key] = text[:MAX_CHARS]
        drop_oldest(links, MAX_LINKS)

    def of(self, url: str) -> str:
        """Return the text by which a fetched page was linked; empty if it is not known."""
        return self._pages.get(hash(url)) or self._links.get(hash(url), "")
