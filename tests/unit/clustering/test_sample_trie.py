"""The trie of a sample gives each page what its own trie gives."""

from __future__ import annotations

from linkscore_scoring.clustering.base import SampleTrie
from linkscore_scoring.features.types import plain_bag

PATHS = [
    ("html/body.a/p/text()", "html/body.a/p.x/text()", "html/body.a/img"),
    ("html/body.a/p/text()", "html/body.b/p/text()"),
    (),
]


def test_bags_of_bare_paths_are_those_of_each_page_in_its_order(page) -> None:
    tries = [page(*paths) for paths in PATHS]
    sample = SampleTrie(tries)
    bags = sample.bags(sample.paths(lambda tag, classes: tag, "/"))
    assert [list(bag.items()) for bag in bags] == [list(plain_bag(trie).items()) for trie in tries]


def test_what_pages_share_is_one_node_and_asked_for_once(page) -> None:
    asked: list[tuple[str, str]] = []
    sample = SampleTrie([page(*PATHS[0]), page(*PATHS[0])])
    sample.paths(lambda tag, classes: asked.append((tag, classes)) or tag, "/")
    assert len(sample) == 2
    assert sample.pages[0] == sample.pages[1] == list(range(len(sample.nodes)))
    assert len(asked) == len(set(asked))
    assert sample.classes == [{"", "a", "x"}] * 2
