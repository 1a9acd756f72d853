"""What harvest says to people: what goes wrong with a crawl, and which pages an answer would tell most of."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from linkscore_scoring.policies.harvest.likeness import Likeness
from linkscore_scoring.policies.harvest.tables import ANY, Source, Tables, Worked
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import ExampleWanted, SiteWarning
from linkscore_scoring.urls.pattern_tree import UrlPatterns

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


def suggest_examples(
    tables: Tables, likeness: Likeness, patterns: UrlPatterns, n: int
) -> list[ExampleWanted]:
    """Return one page of each of up to `n` URL patterns that nobody told of, most waiting links first.

    Told of is a pattern that an example names, or of which a page has feedback: it is never asked about
    again. The page is that whose text is nearest to the mean of its pattern, the latest of several; value =
    w / (w + 30), w links of the pattern that wait. Among equals the pattern with most pages comes first.
    """
    pages, nodes, text = tables.pages, tables.nodes, Worked(tables).text
    told, groups = likeness.example_patterns(patterns), defaultdict[int, list[int]](list)
    for page in range(pages.rows):
        pattern = patterns.resolve(int(pages["pattern"][page]))
        if pages["source"][page] == Source.FEEDBACK or likeness.is_example(tables.urls[page]):
            told.add(pattern)
        elif pages["askable"][page]:
            groups[pattern].append(page)
    waiting = Counter[int]()
    for (pattern, path), row in tables.node_of.items():
        if pattern > ANY and path > ANY:
            waiting[patterns.resolve(pattern)] += int(nodes["waiting"][row])
    found = []
    for pattern in groups.keys() - told:
        alike = groups[pattern]
        nearest = np.abs(text[alike] - text[alike].mean())[::-1].argmin()
        typical = alike[len(alike) - 1 - int(nearest)]
        links, shown = waiting[pattern], patterns.text(pattern) or "any URL"
        reason = f"nobody told of {shown} yet; links that wait: {links}, pages fetched: {len(alike)}"
        label = float(pages["label"][typical]) if likeness else None
        value = links / (links + tables.t.bulk_half_saturation)
        found.append(ExampleWanted(tables.urls[typical], reason, value, len(alike), label))
    return sorted(found, key=lambda wanted: (-wanted.value, -wanted.pages, wanted.url))[:n]
