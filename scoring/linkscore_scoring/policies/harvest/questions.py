"""Which fetched pages to ask a user about: those whose answer tells of most links that wait."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from linkscore_scoring.policies.harvest.likeness import Likeness
from linkscore_scoring.policies.harvest.tables import ANY, Source, Tables, Worked
from linkscore_scoring.types import ExampleWanted
from linkscore_scoring.urls.pattern_tree import UrlPatterns


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
        label = max(0.0, float(pages["label"][typical])) if likeness else None
        value = links / (links + tables.t.bulk_half_saturation)
        found.append(ExampleWanted(tables.urls[typical], reason, value, len(alike), label))
    return sorted(found, key=lambda wanted: (-wanted.value, -wanted.pages, wanted.url))[:n]
