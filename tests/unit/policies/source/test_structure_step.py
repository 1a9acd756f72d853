"""Scores of links that all lead to the target are equal, however often their link path was followed."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.policies.source import structure
from linkscore_scoring.policies.source.source_target import SourceTarget, SourceTargetParams
from linkscore_scoring.site.learning import LearningConfig, SiteBounds
from linkscore_scoring.site.model import SiteModel


def test_probabilities_that_differ_by_little_give_equal_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = SourceTarget(SourceTargetParams(example_html="<p>"))
    policy.clusters, policy.cluster_worth = [0, 1], [0.5, 0.0]
    often_seldom_rarely = np.array([[0.999, 0.001], [0.991, 0.009], [0.9, 0.1]])
    monkeypatch.setattr(
        structure.StructuralPolicy,
        "_probabilities",
        lambda self, sources, link_paths, site: often_seldom_rarely,
    )
    site = SiteModel("s.test", LearningConfig(), SiteBounds())
    assert policy.value(["c0.1", "c0.2", "c0.3"], site).tolist() == pytest.approx([1.0, 1.0, 0.9])
