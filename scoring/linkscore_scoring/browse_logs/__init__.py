"""What the visits people pay to a site tell: which of its pages are news, and how it is browsed.

`mine_site` turns the `BrowseCounts` of one site into a `MinedSite`, beside the request path; nothing in the
room knows a client or a single visit. `news` (Wang 2008) and `behavior` (Liu 2011) are rooms of their own.
"""

from linkscore_scoring.browse_logs.counts import OUTSIDE, BrowseCounts
from linkscore_scoring.browse_logs.mining import MinedSite, mine_site

__all__ = ["OUTSIDE", "BrowseCounts", "MinedSite", "mine_site"]
