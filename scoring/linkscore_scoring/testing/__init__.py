"""Checks that every policy must pass, for ours and for those of others; see `conformance`."""

from linkscore_scoring.testing.conformance import CHECKS, check_policy

__all__ = ["CHECKS", "check_policy"]
