"""FoCUS (Jiang, Song, Yu and Lin 2013): from the entry of a forum over its indexes to its threads.

In the order a page passes through them: `policy` (scores, verdicts, suggestions), `page_types` (index, thread
or other, by layout), `forum_model` (what is learned, page by page; how certain it is; drift), `votes` (what
pages behind links turned out to be), `entry` (the entry page), `paths` (the way from there to threads),
`expressions` and `itf` (regular expressions of the URLs on the way).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkscore_scoring.policies.focus.policy import Focus, FocusParams

__all__ = ["Focus", "FocusParams"]


def __getattr__(name: str) -> Any:
    """Import the policy when it is asked for: `page_types` and `itf` are also used without any site model."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from linkscore_scoring.policies.focus import policy

    return getattr(policy, name)
