"""Crawl for what is wanted in words: `policy` scores, `learning` is what a site and the crawl taught it."""

from linkscore_scoring.policies.topic.policy import Topical

__all__ = ["Topical"]
