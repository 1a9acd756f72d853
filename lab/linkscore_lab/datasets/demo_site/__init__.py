"""The bundled demonstration site: a hobby community with what makes real ones hard to crawl.

Threads with pages, profiles, tag pages with excerpts - and sort orders, permalinks, log-in links and a
calendar that outnumber them. Every page is rendered from its URL alone; nothing is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from urllib.parse import urlsplit

from linkscore_lab.datasets.demo_site import boards, members, service, tags, threads
from linkscore_lab.datasets.demo_site.router import render
from linkscore_lab.datasets.demo_site.world import World
from linkscore_lab.datasets.site import Reply, identity

#: Page types that carry what members wrote; permalinks copy it and do not count.
USER_CONTENT = frozenset({"thread", "thread_page", "profile"})


class DemoSite:
    """A generated community site of some 5,000 URLs.

    Parameters
    ----------
    seed
        Same seed, same site.
    origin
        Scheme and host it is served at.
    n_threads, n_members
        Its size.
    """

    def __init__(
        self, seed: int = 1, origin: str = "http://demo.test", *, n_threads: int = 600, n_members: int = 300
    ) -> None:
        self._world = World(seed, n_threads, n_members)
        self._origin = origin

    @property
    def entry(self) -> str:
        """The front page."""
        return f"{self._origin}/"

    def page(self, url_path: str) -> Reply:
        """Return status, headers and body of a path with its query; a 404 when there is no such page."""
        return render(self._world, url_path)

    def respond(self, url: str) -> Reply:
        """Return the page of an absolute URL, whatever its host."""
        parts = urlsplit(url)
        return self.page(f"{parts.path or '/'}?{parts.query}")

    def labels(self) -> dict[str, str]:
        """Return the page type of every URL, by identity."""
        return self._labels

    @cached_property
    def _labels(self) -> dict[str, str]:
        return {identity(f"{self._origin}{path}"): kind for path, kind in self._urls()}

    def _urls(self) -> Iterator[tuple[str, str]]:
        templates = (boards, threads, members, tags, service)
        pages = chain.from_iterable(template.urls(self._world) for template in templates)
        return chain(pages, threads.permalinks(self._world))
