"""Pages made of columns: features without HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkscore_scoring.features.types import Links, PageFeatures, PathTrie
from linkscore_scoring.hashing import hash64

Link = tuple[str, str]


def trie_of(leaves: Iterable[str]) -> PathTrie:
    """Return the trie of leaf paths such as ``html/body[home]/text()``; a path given twice counts twice."""
    trie = PathTrie()
    nodes: dict[tuple[int, str], int] = {}
    for leaf in leaves:
        at = -1
        for step in leaf.split("/"):
            if (at, step) not in nodes:
                nodes[at, step] = len(trie.parents)
                tag, _, classes = step.rstrip("]").partition("[")
                trie.parents.append(at)
                trie.tags.append(tag)
                trie.classes.append(" ".join(sorted(classes.split())))
                trie.leaves.append(0)
            at = nodes[at, step]
        trie.leaves[at] += 1
    return trie


def page_of(
    url: str,
    leaves: Iterable[str] = (),
    *,
    links: Sequence[Link] = (),
    texts: Sequence[tuple[str, int]] = (),
    canonical: str = "",
) -> PageFeatures:
    """Return the features of a page of a URL that is its own identity, as `canonical` is.

    `leaves`: paths of displayed leaves besides those of the links. `links`: (URL, link path) in document
    order; the link path is a leaf path too. `texts`: (name, characters) of long text blocks; one name is one
    text. All stand before the links.
    """
    table = list(dict.fromkeys(link_path for _, link_path in links))
    places = {link_path: i for i, link_path in enumerate(table)}
    urls = [target for target, _ in links]
    columns = Links(
        urls=urls,
        keys=list(urls),
        anchors=[""] * len(urls),
        link_paths=[places[link_path] for _, link_path in links],
        rels=[""] * len(urls),
        blocks_before=[len(texts)] * len(urls),
        link_path_table=table,
    )
    return PageFeatures(
        url,
        url,
        paths=trie_of([*leaves, *(link_path for _, link_path in links)]),
        block_hashes=[hash64(name) for name, _ in texts],
        block_chars=[chars for _, chars in texts],
        links=columns,
        canonical_key=canonical,
        text_chars=sum(chars for _, chars in texts),
    )
