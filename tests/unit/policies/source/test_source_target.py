"""One page type, named by an example; others are worth what leads to it."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.policies.source import SourceTarget
from support.boards import Board

BOARDS = "html/body/table/tr/td/a"
THREADS = "html/body/ul/li/a"
EXAMPLE = "http://h/thread-0"
HTML = "<html><body><div><h1>t</h1><p>one</p><p>two</p></div></body></html>"


def crawled(**params: object) -> Board:
    """Crawl six hubs that link to six boards, each with two threads; learned at 24 pages."""
    board = Board("source_target", sample_pages=24, **(params or {"example_url": EXAMPLE}))
    for n in range(6):
        board.page(f"/hub-{n}", [(f"/board-{m}", BOARDS) for m in range(6)])
    for n in range(6):
        board.page(f"/board-{n}", [(f"/thread-{2 * n + m}", THREADS) for m in range(2)])
    for n in range(12):
        leaves = ["html/body/div/h1/text()", *["html/body/div/p/text()"] * (n % 2 + 2)]
        board.page(f"/thread-{n}", leaves=leaves)
    return board


def values(board: Board) -> dict[str, float]:
    """Return the value of the cluster of each page type."""
    policy, model = board.shard.served, board.shard.model
    assert isinstance(policy, SourceTarget)
    assert model.templates is not None
    worth = dict(zip(policy.clusters, policy.cluster_values(model).tolist(), strict=True))
    found = {}
    for key, cluster in model.templates.sample.items():
        found[key.rsplit("/")[-1].split("-")[0]] = worth.get(cluster, -1.0)
    return found


def test_one_step_hubs_are_the_column_of_the_target() -> None:
    """eq. 7 with a = target: boards have all of h, hubs none; info = .8 a + .2 h (eq. 9)."""
    found = values(crawled(example_url=EXAMPLE, multi_hop=False))
    assert found == {"hub": 0.0, "board": pytest.approx(0.2), "thread": pytest.approx(0.8)}


def test_multi_hop_gives_pages_two_clicks_away_half_the_worth() -> None:
    """Boards lead to threads for sure (1), hubs to boards for sure (.5 x 1): .2 x 1 and .2 x .5."""
    found = values(crawled(example_url=EXAMPLE))
    assert found == {"hub": pytest.approx(0.1), "board": pytest.approx(0.2), "thread": pytest.approx(0.8)}


def test_an_example_given_as_html_means_the_same_cluster() -> None:
    assert values(crawled(example_html=HTML)) == pytest.approx(values(crawled(example_url=EXAMPLE)))


def test_links_to_the_target_beat_links_to_what_leads_there() -> None:
    board = crawled()
    thread, lower = board.scores("/thread-1", "/board-1")
    assert thread > lower > 0.0


def test_an_example_that_was_not_fetched_means_plan_and_breadth_first() -> None:
    board = crawled(example_url="http://h/never")
    assert board.explain("/thread-1")[0].explanation.summary.endswith(
        "sampling plan first, then breadth-first"
    )
    assert np.allclose(board.scores("/new"), 0.5)
