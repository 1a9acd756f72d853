"""Anthelion, two-level focused crawling: a bandit over hosts, a classifier of links; also as released."""

from linkscore_scoring.policies.anthelion.policy import Anthelion, AnthelionParams

__all__ = ["Anthelion", "AnthelionParams"]
