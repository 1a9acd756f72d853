"""iRobot (Cai 2008): the sitemap of a sample, its spanning tree, and the policy that follows it."""

from linkscore_research.policies.irobot.policy import Irobot, IrobotParams

__all__ = ["Irobot", "IrobotParams"]
