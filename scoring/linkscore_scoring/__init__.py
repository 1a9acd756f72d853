"""Link scoring as a pure library: features, site models, learners, policies, and the crawls they work in.

No grpc, files, clock or environment in here: time and randomness enter as arguments. Data flows one way
through the packages::

    features, urls -> pagination, clustering, graph, browse_logs -> site -> learners -> policies -> engine

A program drives a crawl by `CrawlModel` and `CrawlQueries`; who writes a policy starts from `Policy` and
checks it with `linkscore_scoring.testing`. Names are loaded when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
    from linkscore_scoring.engine.crawl import CrawlModel
    from linkscore_scoring.engine.queries import CrawlQueries
    from linkscore_scoring.errors import LinkscoreError
    from linkscore_scoring.policies.base import Params, Policy
    from linkscore_scoring.site.model import SiteModel
    from linkscore_scoring.types import FeedbackObservation, LinkBatch, PageObservation

    __version__: str

__all__ = [
    "CrawlConfig",
    "CrawlModel",
    "CrawlQueries",
    "FeedbackObservation",
    "LinkBatch",
    "LinkscoreError",
    "PageObservation",
    "Params",
    "Policy",
    "PolicyChoice",
    "SiteModel",
    "__version__",
]

_HOMES = {
    "CrawlConfig": "engine.config",
    "CrawlModel": "engine.crawl",
    "CrawlQueries": "engine.queries",
    "FeedbackObservation": "types",
    "LinkBatch": "types",
    "LinkscoreError": "errors",
    "PageObservation": "types",
    "Params": "policies.base",
    "Policy": "policies.base",
    "PolicyChoice": "engine.config",
    "SiteModel": "site.model",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for: features alone must not cost the import of numpy, policies and learners."""
    if name == "__version__":
        from importlib.metadata import version

        return version("linkscore")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
