"""Signals of the kind of page: what tells an index page from a thread page in any engine."""

from __future__ import annotations

from linkscore_scoring.features.layout.link_signals import link_signals
from linkscore_scoring.features.layout.record_signals import record_signals
from linkscore_scoring.features.layout.text_signals import text_signals
from linkscore_scoring.features.layout.title_signals import find_titles, time_signals, title_signals
from linkscore_scoring.features.layout.tree import PageTree
from linkscore_scoring.features.layout.view import PageView
from linkscore_scoring.features.markup import TagTable
from linkscore_scoring.features.types import Links


def measure(view: PageView) -> dict[str, float]:
    """Return the signals of a page by name; counts and lengths as ln(1 + x), the others in [-1, 1].

    Source: Jiang 2013, table 1, for those of `record_signals` up to ``link_groups``; height is lines of 80
    characters and blocks, width 1 / children. The others are not from the paper.
    """
    titles = find_titles(view)
    return {
        **record_signals(view),
        **text_signals(view),
        **title_signals(view, titles),
        **time_signals(view, titles),
        **link_signals(view, titles),
    }


def _empty_page() -> PageView:
    tree = PageTree(TagTable())
    tree.read([])
    return PageView.of(tree, Links(), [], "")


SIGNALS = tuple(measure(_empty_page()))
"""Names of the signals, in the order of `PageLayout.signals`."""
