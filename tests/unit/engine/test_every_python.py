"""A crawl gives the same scores and the same state under every Python and numpy, to the last bit."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import numpy as np
import pytest
from typing_extensions import TypeAliasType, TypeVar

from linkscore_scoring.policies.registry import builtin
from linkscore_scoring.state.records import _codec
from linkscore_scoring.testing.subject import Subject, packed

# Of 3.11 with numpy 2.4 and of 3.13 with numpy 2.5. They change when scores or states do, on purpose.
DIGESTS = {
    "harvest": "609e964ad12d68a5",
    "topic": "38b14f9741106a53",
    "source_ucc": "8c94465b82d96531",
}


@pytest.mark.parametrize("policy", DIGESTS)
def test_scores_and_state_of_a_crawl_are_those_of_every_python(policy: str) -> None:
    asked = Subject(builtin()[policy], {}).after(120)
    digest = hashlib.sha256()
    for score in asked.scores(400):
        digest.update(struct.pack(">d", score))
    digest.update(packed(asked.crawl.model.to_state()))
    assert digest.hexdigest()[:16] == DIGESTS[policy]


def test_an_array_is_kept_where_its_annotation_is_an_alias() -> None:
    """From Python 3.12 on `NDArray` of numpy 2.5 is one: no site that is learned could be kept."""
    item = TypeVar("item")
    alias: Any = TypeAliasType("alias", np.ndarray[Any, np.dtype[item]], type_params=(item,))  # type: ignore[type-var]
    codec = _codec(alias[np.float64])
    assert codec.unpack(codec.pack(np.array([0.5]))).tolist() == [0.5]
