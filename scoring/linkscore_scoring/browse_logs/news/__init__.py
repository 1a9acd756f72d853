"""News of a site, from its browse log (Wang 2008): which pages are news, where they lie, what links to them.

`mining.mine_news` goes through it in order: `signals` of every page, `calibration` of the threshold,
`prefixes` (with `rates`, the share of news among some pages) and `hubs`; the result is `model.NewsModel`.
`crawl.mine_crawl` does it over all sites of a crawl at once.
"""

from linkscore_scoring.browse_logs.news.hubs import Hub
from linkscore_scoring.browse_logs.news.mining import mine_news
from linkscore_scoring.browse_logs.news.model import NewsModel
from linkscore_scoring.browse_logs.news.prefixes import NewsPrefix, PrefixTrie
from linkscore_scoring.browse_logs.news.settings import NewsSettings
from linkscore_scoring.browse_logs.news.signals import SIGNALS

__all__ = ["SIGNALS", "Hub", "NewsModel", "NewsPrefix", "NewsSettings", "PrefixTrie", "mine_news"]
