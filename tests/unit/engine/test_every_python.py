"""A crawl gives the same scores and the same state under every Python and numpy, to the last bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from typing_extensions import TypeAliasType, TypeVar

from linkscore_scoring.policies.registry import builtin
from linkscore_scoring.state.records import _codec
from support import score_digests

# Of 3.11 with numpy 2.4, of 3.12 and 3.13 with numpy 2.5. They change when scores or states do, on purpose.
DIGESTS = {
    "anthelion": "9dd982f3f6c9f331",
    "auto": "0ef77ee27984f28b",
    "behavior_discovery": "3fdef89a97d4e20b",
    "behavior_fetch": "2bccc8df9d038301",
    "breadth_first": "99e0804705195ec5",
    "depth_first": "b771a9a5403fa72b",
    "experiment": "dda1da2b23390b83",
    "focus": "b6403330d11c2f9e",
    "fractional_pagerank": "9f3f4267f47a02e7",
    "harvest": "ef6bbb70a4826663",
    "in_degree": "62d80d9531b028fc",
    "irobot": "a473e06f1fbd6e3e",
    "keyword": "b55824c368f80789",
    "news_prefix": "75bf05a04f84fc3e",
    "opic": "dc82b971011d8622",
    "pagerank": "1f13878d7c28f014",
    "rank_mass": "4b73ff40a8109d96",
    "source_target": "b749d5821a4da9fc",
    "source_ucc": "f4fce1df3bea5671",
    "tag_path_bandit": "832dad69a2b64a0a",
    "topic": "4998d40a811d940f",
    "tpm": "c623df57022d757c",
    "uniform_random": "da4b5d6028d03625",
}
QUICK = ["harvest", "topic"]


@pytest.mark.parametrize(
    "policies",
    [
        pytest.param(QUICK, id="quick"),
        pytest.param([name for name in DIGESTS if name not in QUICK], marks=pytest.mark.long, id="others"),
    ],
)
def test_scores_and_state_of_a_crawl_are_those_of_every_python(policies: list[str]) -> None:
    """Those of policies that are here: annexes can be taken away."""
    here = [name for name in policies if name in builtin()]
    got = subprocess.run(
        [sys.executable, score_digests.__file__, *here],
        env=os.environ | score_digests.SETTINGS,
        capture_output=True,
        check=True,
    )
    assert json.loads(got.stdout) == {name: DIGESTS[name] for name in here}


def test_every_policy_has_a_digest() -> None:
    assert sorted(DIGESTS) == sorted(builtin())


def test_an_array_is_kept_where_its_annotation_is_an_alias() -> None:
    """From Python 3.12 on `NDArray` of numpy 2.5 is one: no site that is learned could be kept."""
    item = TypeVar("item")
    alias: Any = TypeAliasType("alias", np.ndarray[Any, np.dtype[item]], type_params=(item,))  # type: ignore[type-var]
    codec = _codec(alias[np.float64])
    assert codec.unpack(codec.pack(np.array([0.5]))).tolist() == [0.5]
