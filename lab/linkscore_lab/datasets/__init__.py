"""Sites to measure on: their pages, their labels, and which pages are relevant.

`datasets.demo_site` is imported by its name: a crawl process, which wants to start quickly, needs it not.
"""

from linkscore_lab.datasets.labels import (
    read_labels,
    read_rewards,
)
from linkscore_lab.datasets.relevance import (
    ByFeedback,
    ByStructuredData,
    ByType,
    ByUrl,
    Relevance,
    choose_relevance,
)
from linkscore_lab.datasets.site import PageFacts, Reply, Site, identity, identity_or_none, resolve

__all__ = [
    "ByFeedback",
    "ByStructuredData",
    "ByType",
    "ByUrl",
    "PageFacts",
    "Relevance",
    "Reply",
    "Site",
    "choose_relevance",
    "identity",
    "identity_or_none",
    "read_labels",
    "read_rewards",
    "resolve",
]
