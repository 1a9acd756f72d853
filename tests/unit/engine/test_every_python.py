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
    "anthelion": "e281d762bb5add57",
    "auto": "d571d8b48b835d0c",
    "behavior_discovery": "9fecdc0623949638",
    "behavior_fetch": "523118a23a65842a",
    "breadth_first": "0de6167b647015ec",
    "depth_first": "9c01cf4b45ac43e2",
    "focus": "444844cce86d1fac",
    "fractional_pagerank": "2c0888717e985482",
    "harvest": "540bec19af89ffb1",
    "in_degree": "fb8bb21bc762be9c",
    "irobot": "437ced9a44a63614",
    "keyword": "aaae7698c3294c90",
    "news_prefix": "d62b06cd69658056",
    "opic": "bd8494278a6b7450",
    "pagerank": "5f9e836df7fb5c08",
    "rank_mass": "bb13d429ff635948",
    "source_target": "4d84dffdce792ac3",
    "source_ucc": "50f5fd56acbf376e",
    "tag_path_bandit": "62892fd8f7230d5d",
    "topic": "26c58047f4e583b8",
    "tpm": "9a017912fa9ceb1d",
    "uniform_random": "9e26758949526dde",
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


@pytest.mark.whole
def test_every_policy_has_a_digest() -> None:
    assert sorted(DIGESTS) == sorted(builtin())


def test_an_array_is_kept_where_its_annotation_is_an_alias() -> None:
    """From Python 3.12 on `NDArray` of numpy 2.5 is one: no site that is learned could be kept."""
    item = TypeVar("item")
    alias: Any = TypeAliasType("alias", np.ndarray[Any, np.dtype[item]], type_params=(item,))  # type: ignore[type-var]
    codec = _codec(alias[np.float64])
    assert codec.unpack(codec.pack(np.array([0.5]))).tolist() == [0.5]
