"""What a crawl is for, said in words: queries, sample pages, languages, least length.

`spec` is what a user says and the rules it must keep, `relevance` how far pages and links are about it. The
words themselves are `features.words`; the policy that crawls by them is `policies.topic`.
"""

from linkscore_scoring.wanted.relevance import MAX_EXPANSION, Topic, WordCounts
from linkscore_scoring.wanted.spec import Wanted, WantedQuery, WantedSample

__all__ = ["MAX_EXPANSION", "Topic", "Wanted", "WantedQuery", "WantedSample", "WordCounts"]
