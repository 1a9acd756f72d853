"""The bandit that decides between the hosts of a crawl, what hosts are worth to it, how it shares fetches."""

from linkscore_scoring.learners.bandits.allocation import allocate, allocate_best
from linkscore_scoring.learners.bandits.host_bandit import Arm, HostBandit
from linkscore_scoring.learners.bandits.host_values import HOST_VALUES

__all__ = ["HOST_VALUES", "Arm", "HostBandit", "allocate", "allocate_best"]
