"""Pages with page links, as policies see them."""

from __future__ import annotations

from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.hashing import hash64
from linkscore_scoring.pagination.page_links import find_page_links
from linkscore_scoring.types import PageObservation, links_of_page

HOST = "http://f.org"


def key_of(url: str) -> int:
    """Return the identity hash of a path of the site."""
    return hash64(HOST + url)


def page(
    url: str, *links: tuple[str, str], place: int = 7, cluster: int = -2, paths: PathTrie | None = None
) -> PageObservation:
    """Return the observation of a page with (anchor, path) links, all at one place."""
    urls, anchors = [HOST + to for _, to in links], [anchor for anchor, _ in links]
    n = len(links)
    batch = links_of_page(urls, list(map(hash64, urls)), [place] * n, [0] * n, anchors, source=-2, depth=1)
    return PageObservation(
        seq=1,
        key=key_of(url),
        url=HOST + url,
        requested=key_of(url),
        depth=0,
        pattern=0,
        contexts=[],
        failed=False,
        refetch=False,
        cluster=cluster,
        links=batch,
        paths=paths or PathTrie(),
        page_links=find_page_links(HOST + url, urls, anchors, [], []),
    )
