"""Auto, the policy that earns most on the site at hand among several that all learn."""

from linkscore_scoring.policies.auto.policy import Auto, AutoParams

__all__ = ["Auto", "AutoParams"]
