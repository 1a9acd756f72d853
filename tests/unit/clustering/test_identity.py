"""Cluster ids over relearning."""

from __future__ import annotations

from linkscore_scoring.clustering.templates import ClusterIdentities


def _old(**members: str) -> dict[str, int]:
    return {page: int(name[1:]) for name, pages in members.items() for page in pages}


def test_larger_part_of_a_split_keeps_the_id() -> None:
    ids = ClusterIdentities(next_id=1)
    assert ids.carry_over(_old(c0="abcde"), list("abcde"), [0, 0, 1, 1, 1]) == {1: 0, 0: 1}


def test_merged_cluster_keeps_the_id_of_the_larger_part() -> None:
    ids = ClusterIdentities(next_id=2)
    assert ids.carry_over(_old(c0="ab", c1="vwxyz"), list("abvwxyz"), [0] * 7) == {0: 1}


def test_ids_of_vanished_clusters_are_never_given_again() -> None:
    ids = ClusterIdentities()
    ids.carry_over({}, ["a", "b"], [0, 1])
    assert ids.carry_over({}, ["c"], [0]) == {0: 2}
