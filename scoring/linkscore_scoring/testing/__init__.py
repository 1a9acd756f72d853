"""Checks that every policy must pass, for ours and for those of others; see `conformance`."""

from linkscore_scoring.testing.conformance import CHECKS, VARIANT_CHECKS, check_policy, fallback_variants

__all__ = ["CHECKS", "VARIANT_CHECKS", "check_policy", "fallback_variants"]
