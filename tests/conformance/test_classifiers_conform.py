"""Every classifier passes the suite of the library."""

from __future__ import annotations

from typing import Any

import pytest

from linkscore_scoring.learners.classifiers import CLASSIFIERS, Classifier
from linkscore_scoring.testing.classifiers import CLASSIFIER_CHECKS, check_classifier


@pytest.mark.parametrize("check", CLASSIFIER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", CLASSIFIERS.values(), ids=lambda kind: kind.name)
def test_every_classifier_passes(kind: type[Classifier], check: Any) -> None:
    assert check(kind) is None


class Forgetful(CLASSIFIERS["ftrl"]):
    name = "toy_forgetful"

    def to_state(self) -> dict[str, Any]:
        return {}

    def load_state(self, state: dict[str, Any]) -> None:
        pass


def test_a_classifier_that_keeps_no_state_is_found_out() -> None:
    with pytest.raises(AssertionError, match="toy_forgetful"):
        check_classifier(Forgetful)
