"""Targets first, then the groups of links behind which most targets were found (Gauquier 2026).

Read `policy` first; `tag_path_groups` are its arms, `target_arms` what they earned.
"""

from __future__ import annotations

from linkscore_research.policies.tag_path_bandit.policy import TagPathBandit, TagPathBanditParams

__all__ = ["TagPathBandit", "TagPathBanditParams"]
