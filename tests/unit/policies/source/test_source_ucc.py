"""Links by the cluster they lead to: eqs. 7 to 12 on a site of two templates, recomputed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.source import SourceUcc
from support.boards import Board

POST = "html/body/ul/li/a"
BACK = "html/body/div/p/a"


def sampled(pages: int = 8, **params: object) -> Board:
    """Crawl the list and `pages` - 1 posts of growing size, which link back; learned at 8 pages."""
    board = Board("source_ucc", sample_pages=8, **params)
    tickets = board.page("/list-0", [(f"/post-{n}", POST) for n in range(12)]).links.ticket_values
    for n in range(1, 4):
        board.page(f"/list-{n}", [(f"/post-{n}", POST)] * n, leaves=["html/body/ul/li/em/text()"] * n)
    for n in range(pages - 4):
        leaves = ["html/body/div/p/text()"] * (2 * n + 1) + ["html/body/div/h1/text()"]
        links = [("/list-0", BACK), ("/list-9", BACK)]
        board.page(f"/post-{n}", links, leaves=leaves, ticket=tickets[0])
    return board


def ucc(board: Board) -> SourceUcc:
    policy = board.shard.served
    assert isinstance(policy, SourceUcc)
    return policy


def test_while_sampling_the_planned_link_of_each_link_path_comes_first_then_fewer_clicks() -> None:
    board = Board("source_ucc")
    outcome = board.page("/", [(f"/a{n}", POST) for n in range(5)] + [(f"/b{n}", BACK) for n in range(5)])
    scores, buckets = outcome.links.scores, outcome.links.buckets
    names = [outcome.links.bucket_names[i] for i in buckets]
    planned = [row for row in range(10) if names[row] == "h/plan"]
    assert len(planned) == 2
    assert {row // 5 for row in planned} == {0, 1}
    assert scores[planned].tolist() == [0.9, 0.9]
    assert np.delete(scores, planned).tolist() == [0.25] * 8
    assert all(name.startswith("h/s1.") for row, name in enumerate(names) if row not in planned)


def test_scores_are_eq_12_of_the_values_of_eq_11() -> None:
    board = sampled()
    model, policy = board.shard.model, ucc(board)
    assert model.templates is not None
    ids = model.templates.ids()
    A = model.navigation.adjacency(ids)
    h = a = np.full(len(ids), 1 / np.sqrt(len(ids)))
    for _ in range(200):
        h = A @ a / np.linalg.norm(A @ a)  # eq. 7
        a = A.T @ h / np.linalg.norm(A.T @ h)  # eq. 8
    info = 0.5 * a + 0.5 * h  # eq. 9
    spread = np.maximum([stats.dsim for stats in model.templates.clusters], 1e-6)  # eq. 10
    crawled = np.array([model.crawled[i] for i in ids])
    balance = 1 - crawled / crawled.sum()
    value = info * spread * np.maximum(balance, 1e-6)  # eq. 11
    np.testing.assert_allclose(policy.cluster_values(model), value, rtol=1e-6)
    links = ["/post-9", "/list-9"]
    sources = [why.source for why in board.explain(*links)]
    link_paths = [model.memory.contexts(key)[-1][1] for key in _keys(links)]
    P = model.navigation.probabilities(sources, link_paths, model.link_paths.classless(link_paths), ids)
    assert board.scores(*links) == pytest.approx((P @ value / value.max()).tolist(), rel=1e-6)  # eq. 12


def test_a_cluster_loses_value_while_it_is_crawled_unless_balance_is_off() -> None:
    for off, cmp in ((False, -1), (True, 0)):
        board = sampled(without_balance=off)
        model, policy = board.shard.model, ucc(board)
        at = policy.clusters.index(model.cluster_of(_keys(["/post-0"])[0]))
        before = policy.cluster_values(model)[at]
        for n in range(6, 10):
            board.page(f"/post-{n}", [("/list-0", BACK)], leaves=["html/body/div/p/text()"] * 3)
        after = policy.cluster_values(model)[at]
        assert np.sign(after - before) == cmp


def test_without_info_only_the_spread_of_a_cluster_counts() -> None:
    board = sampled(without_info=True, without_balance=True)
    assert board.shard.model.templates is not None
    spread = [stats.dsim for stats in board.shard.model.templates.clusters]
    assert ucc(board).cluster_worth == pytest.approx(np.maximum(spread, 1e-6), rel=1e-9)


def _keys(paths: list[str]) -> list[int]:
    return [hash64(f"http://h{path}") for path in paths]
