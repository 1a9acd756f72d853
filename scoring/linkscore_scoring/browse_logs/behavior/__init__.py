"""How people browse a site, from its browse log (Liu 2011): URL patterns, and what their pages are worth.

`mining.mine_behavior` goes through it in order: `key_values` of every URL, `pattern_tree`, its `cuts`,
`serials` (numbers that grow as pages are born), `demand` and `rankings`; the result is
`model.BehaviorModel`. `pattern_text` writes patterns out.
"""

from linkscore_scoring.browse_logs.behavior.mining import CUTS, BehaviorSettings, mine_behavior
from linkscore_scoring.browse_logs.behavior.model import BehaviorModel, Place
from linkscore_scoring.browse_logs.behavior.pattern_text import regex_of, text_of
from linkscore_scoring.browse_logs.behavior.rankings import DISCOVERY, FETCH

__all__ = [
    "CUTS",
    "DISCOVERY",
    "FETCH",
    "BehaviorModel",
    "BehaviorSettings",
    "Place",
    "mine_behavior",
    "regex_of",
    "text_of",
]
