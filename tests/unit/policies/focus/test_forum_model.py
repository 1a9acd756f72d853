"""Entry, threads and expressions of the way from entry to threads, each by hand."""

from __future__ import annotations

import re

import pytest

from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.focus.forum_model import Expressions
from linkscore_scoring.policies.focus.paths import KindVotes, LinkTable, find_paths
from linkscore_scoring.types import INDEX, THREAD
from linkscore_scoring.urls.pattern_tree import UrlPatterns


@pytest.fixture
def forum() -> tuple[KindVotes, LinkTable, int]:
    """Votes and links of a forum: home -> boards -> threads and profiles; boards have pages."""
    votes, links = KindVotes(UrlPatterns()), LinkTable()
    urls = {
        "board": [f"http://h/board?b={n}" for n in range(3)],
        "flip": [f"http://h/board?b={n}&page={n + 2}" for n in range(3)],
        "thread": [f"http://h/thread?t={n}" for n in range(9)],
        "profile": [f"http://h/user?u={n}" for n in range(9)],
    }
    ids = {name: next(iter([votes.patterns.insert(url) for url in found])) for name, found in urls.items()}
    home = votes.patterns.insert("http://h/")
    shares = {"board": (0.9, 0.0, 0.1), "thread": (0.0, 0.9, 0.1), "profile": (0.1, 0.1, 0.8)}
    for name, share in shares.items():
        for _ in urls[name][:3]:
            votes.cast(ids[name], [], share, copy=0.0)
    for _ in range(2):
        votes.count_page_links(ids["flip"], INDEX, 1.0)
    links.see(home, [(ids["board"], 1, hash64(url), url) for url in urls["board"]])
    for name in ("flip", "thread", "profile"):
        links.see(ids["board"], [(ids[name], 2, hash64(url), url) for url in urls[name]])
    return votes, links, home


def test_the_way_leads_over_indexes_to_threads(forum: tuple[KindVotes, LinkTable, int]) -> None:
    votes, links, home = forum
    found = find_paths([home], links, votes)
    text = votes.patterns.text
    assert {text(p) for p in found.index} >= {"h/board?b b=#"}
    assert {text(p) for p in found.thread} == {"h/thread?t t=#"}
    assert {text(p) for p in found.off} == {"h/user?u u=#"}
    assert [found.type_of(p, 2, 0) for p in found.thread] == [THREAD]


def test_expressions_are_learned_of_the_way_and_do_not_fit_what_is_off_it(
    forum: tuple[KindVotes, LinkTable, int],
) -> None:
    votes, links, home = forum
    expressions = Expressions()
    expressions.learn(find_paths([home], links, votes), links, votes)
    assert expressions.match("http://h/thread?t=4711") == THREAD
    assert expressions.match("http://h/board?b=12") == INDEX
    assert expressions.match("http://h/user?u=1") == 0
    assert {rule.kind for rule in expressions.found} >= {"index", "thread"}
    assert all(re.fullmatch(rule.pattern, rule.example_url) for rule in expressions.found)
