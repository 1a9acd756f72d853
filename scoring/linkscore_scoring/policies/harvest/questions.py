"""Which fetched pages to ask a user about: those whose answer would teach most."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from linkscore_scoring.policies.harvest.likeness import Likeness
from linkscore_scoring.policies.harvest.tables import Floats, Source, Tables, Worked
from linkscore_scoring.types import ExampleWanted
from linkscore_scoring.urls.pattern_tree import UrlPatterns


def suggest_examples(
    tables: Tables, likeness: Likeness, patterns: UrlPatterns, n: int
) -> list[ExampleWanted]:
    """Return one page of each of up to `n` URL patterns, best first: what an answer about it would teach.

    With examples, uncertain patterns come first: uncertainty of the page x u / (u + 5), u = pages x mean
    uncertainty of the latest 16 of the pattern. A page is uncertain if its label is near 1/2, or layout and
    URL are at odds. Then, and without examples only these, patterns that are of no example and of no page
    with feedback, by the text they brought: t / (t + 5), t = pages x mean worth by text; a tenth of it if
    they are surely like a page of another pattern that somebody named. Among equals the pattern with most
    pages comes first. After uncertainty sampling, Lewis and Gale 1994; weighing by the pages an answer is
    about is ours.
    """
    named, groups = likeness.example_patterns(patterns), defaultdict[int, list[int]](list)
    for page in np.flatnonzero(tables.pages["askable"]).tolist():
        groups[patterns.resolve(int(tables.pages["pattern"][page]))].append(page)
    text = Worked(tables).text
    found = (
        _suggested(tables, text, likeness, pages, patterns.text(pattern), is_named=pattern in named)
        for pattern, pages in groups.items()
    )
    return sorted(filter(None, found), key=lambda wanted: (-wanted.value, -wanted.pages))[:n]


def _suggested(
    tables: Tables, text: Floats, likeness: Likeness, pages: list[int], pattern: str, *, is_named: bool
) -> ExampleWanted | None:
    """Return the page of a URL pattern to ask about, if any."""
    t = tables.t
    untold = [page for page in pages if tables.pages["source"][page] != Source.FEEDBACK]
    untold = [page for page in untold if not likeness.is_example(tables.urls[page])]
    if not untold:
        return None
    label = {page: float(tables.pages["label"][page]) if likeness else 0.0 for page in untold}
    layout = {page: float(tables.pages["layout"][page]) if likeness else 0.0 for page in untold}
    doubt = {
        page: max(1.0 - abs(2.0 * abs(label[page]) - 1.0), layout[page] - abs(label[page])) for page in untold
    }
    most = max(reversed(untold), key=doubt.__getitem__)
    if likeness and doubt[most] >= t.uncertain:
        latest = untold[-t.latest :]
        uncertain = len(pages) * sum(doubt[page] for page in latest) / len(latest)
        value = 1.0 + doubt[most] * uncertain / (uncertain + t.half_saturation)
        if layout[most] - label[most] > 1.0 - abs(2.0 * label[most] - 1.0):
            reason = f"its layout is like an example ({layout[most]:.2f}), its URL has another shape"
        else:
            reason = f"half like an example ({label[most]:.2f}): neither clearly wanted nor clearly not"
        return ExampleWanted(tables.urls[most], reason, value, len(pages), label[most])
    if is_named:
        return None
    mean = float(text[untold].mean())
    typical = min(reversed(untold), key=lambda page: abs(text[page] - mean))
    total = len(pages) * mean
    value = total / (total + t.half_saturation) * (1.0 - (1.0 - t.least_left) * abs(label[typical]))
    of = f"the {len(pages)} pages of {pattern or 'any URL'}"
    reason = f"no example is one of {of}; mean worth by text {mean:.2f}"
    said = max(0.0, label[typical]) if likeness else None
    return ExampleWanted(tables.urls[typical], reason, value, len(pages), said)
