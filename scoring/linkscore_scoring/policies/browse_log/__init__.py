"""Policies that go by the browse logs of a site: `news_prefix` (Wang 2008), `behavior_fetch` and
`behavior_discovery` (Liu 2011).
"""

from linkscore_scoring.policies.browse_log.behavior_discovery import (
    BehaviorDiscovery,
    BehaviorDiscoveryParams,
)
from linkscore_scoring.policies.browse_log.behavior_fetch import BehaviorFetch, BehaviorFetchParams
from linkscore_scoring.policies.browse_log.news_prefix import NewsByPrefix, NewsPrefixParams

__all__ = [
    "BehaviorDiscovery",
    "BehaviorDiscoveryParams",
    "BehaviorFetch",
    "BehaviorFetchParams",
    "NewsByPrefix",
    "NewsPrefixParams",
]
