"""Every classifier passes the suite of the library."""

from __future__ import annotations

from typing import Any

import pytest

from linkscore_scoring.learners.classifiers import CLASSIFIERS
from linkscore_scoring.testing.classifiers import CLASSIFIER_CHECKS, check_classifier


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_passes(name: str) -> None:
    for check in CLASSIFIER_CHECKS:
        check(CLASSIFIERS[name])


class Forgetful(CLASSIFIERS["ftrl"]):
    name = "toy_forgetful"

    def to_state(self) -> dict[str, Any]:
        return {}

    def load_state(self, state: dict[str, Any]) -> None:
        pass


def test_a_classifier_that_keeps_no_state_is_found_out() -> None:
    with pytest.raises(AssertionError, match="toy_forgetful"):
        check_classifier(Forgetful)
