"""What goes wrong with a crawl, as far as harvest can tell, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from linkscore_scoring.policies.harvest.likeness import Likeness
from linkscore_scoring.policies.harvest.tables import Tables, Worked
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import SiteWarning

LEAST, MENU_PAGES, LATEST = 40, 50, 40
"""Fetches before anything is said; latest fetches looked at for menus, and for labels. Chosen."""
MENUS, SURE = 0.5, 0.75
"""Share of fetches of menus from which, and mean reward expected of the next 100 fetches below which, a crawl
without labels goes wrong. Chosen on half of the sites at hand: research/notebook/when-to-stop.md."""
SAMPLED = 200
"""Pages whose links tell what most pages link to, the latest. A bound."""
BEHIND, MANY = 0.5, 10
"""Share of what the best links that wait brought below which the latest fetches are bad, and how many of them
must wait. Chosen."""


def warnings(tables: Tables, likeness: Likeness, expected: float, site: SiteModel) -> Iterator[SiteWarning]:
    """Yield what goes wrong after the latest fetch; `expected` as of `Policy.warnings`.

    Cost: that of working everything out, and of the links of 200 pages.
    """
    if tables.pulls < LEAST:
        return
    worked, nodes = Worked(tables), tables.nodes
    if likeness.is_given and not tables.settled_wanted and not worked.is_wanted.any():
        yield SiteWarning(
            "examples_not_met",
            f"none of {tables.pulls} fetches is like an example: start at a page that links to one, give "
            "examples with URL and HTML, or answer suggest_examples",
        )
    if not tables.share:
        share = _share_of_menus(tables.keys[-MENU_PAGES:], site)
        if share >= MENUS and expected < SURE:
            yield SiteWarning(
                "menus",
                f"{share:.0%} of the latest fetches are of what most pages link to: give example pages of "
                "what is wanted, or answer suggest_examples",
            )
        return
    is_arm = np.flatnonzero(tables.all_rows[2])
    arms = is_arm[(nodes["waiting"][is_arm] >= MANY) & (worked.own_n[is_arm] >= tables.t.few)]
    recent = float(worked.page_reward[-LATEST:].mean())
    mean = worked.own_reward[arms] / worked.own_n[arms]
    if len(arms) and recent < BEHIND * mean.max():
        best = int(arms[mean.argmax()])
        pattern = next(node[0] for node, row in tables.node_of.items() if row == best)
        yield SiteWarning(
            "behind_labels",
            f"the last {LATEST} fetches brought {recent:.2f} by your labels, links of "
            f"{site.patterns.text(pattern)} {mean.max():.2f}, and {nodes['waiting'][best]} of these wait: "
            "see explain of one of them, and check the labels",
        )


def _share_of_menus(keys: list[int], site: SiteModel) -> float:
    """Return the share of some pages that more than half of the sampled pages link to."""
    sampled = [{key for *_, key in page.links} for page in list(site.sample)[-SAMPLED:]]
    linked = Counter(key for keys in sampled for key in keys)
    return sum(2 * linked[key] > len(sampled) for key in keys) / max(1, len(keys))
