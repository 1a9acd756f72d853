"""Orders that learn nothing, to compare with: breadth-first, random, by words or dates."""

from linkscore_scoring.policies.baselines.breadth_first import BreadthFirst
from linkscore_scoring.policies.baselines.uniform_random import UniformRandom, UniformRandomParams

__all__ = ["BreadthFirst", "UniformRandom", "UniformRandomParams"]
