"""A crawl gives the same scores and the same state under every Python and numpy, to the last bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
from typing_extensions import TypeAliasType, TypeVar

from linkscore_scoring.state.records import _codec

# Of 3.11 with numpy 2.4 and of 3.13 with numpy 2.5. They change when scores or states do, on purpose.
DIGESTS = {
    "harvest": "609e964ad12d68a5",
    "topic": "19f78df827f9b6f1",
    "source_ucc": "b222c2d63738e8af",
}
# OpenBLAS adds up dot products in an order that it chooses by processor, before numpy is imported: the last
# bits differ. This is one that every x86-64 of the last ten years has.
PROCESSOR = {"OPENBLAS_CORETYPE": "Haswell"}
DIGESTS_OF = """
import hashlib, json, struct, sys
from linkscore_scoring.policies.registry import builtin
from linkscore_scoring.testing.subject import Subject, packed

found = {}
for policy in sys.argv[1:]:
    asked = Subject(builtin()[policy], {}).after(120)
    digest = hashlib.sha256()
    for score in asked.scores(400):
        digest.update(struct.pack(">d", score))
    digest.update(packed(asked.crawl.model.to_state()))
    found[policy] = digest.hexdigest()[:16]
print(json.dumps(found))
"""


def test_scores_and_state_of_a_crawl_are_those_of_every_python() -> None:
    got = subprocess.run(
        [sys.executable, "-c", DIGESTS_OF, *DIGESTS],
        env=os.environ | PROCESSOR,
        capture_output=True,
        check=True,
    )
    assert json.loads(got.stdout) == DIGESTS


def test_an_array_is_kept_where_its_annotation_is_an_alias() -> None:
    """From Python 3.12 on `NDArray` of numpy 2.5 is one: no site that is learned could be kept."""
    item = TypeVar("item")
    alias: Any = TypeAliasType("alias", np.ndarray[Any, np.dtype[item]], type_params=(item,))  # type: ignore[type-var]
    codec = _codec(alias[np.float64])
    assert codec.unpack(codec.pack(np.array([0.5]))).tolist() == [0.5]
