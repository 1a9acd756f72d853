"""Generated sites, each drawn from a seed: shops, blogs, forums, references and what lies between.

Constants of the default policy are chosen on the sites of `CHOOSING` and judged on those of `JUDGING`. No
site is meant to be like a certain real one; what real sites have is drawn for each, and independently.
"""

from linkscore_research.zoo.site import SyntheticSite
from linkscore_research.zoo.traits import SiteTraits, draw_sibling, draw_traits, sibling_seed

CHOOSING = range(1_000, 1_200)
"""Seeds of the sites to choose on."""
JUDGING = range(2_000, 2_200)
"""Seeds of the sites to judge on; nothing is chosen by looking at these."""

__all__ = [
    "CHOOSING",
    "JUDGING",
    "SiteTraits",
    "SyntheticSite",
    "draw_sibling",
    "draw_traits",
    "sibling_seed",
]
