"""Named places between write, sync, apply and answer, where tests end a process or let a call fail.

A server does nothing there. A test sets `reached` to what is called with the name of each place as it is
passed: it may note it, raise, or kill the process.
"""

from __future__ import annotations

from collections.abc import Callable

NAMES = (
    "segment.headed",  # the first bytes of a segment are durable, its name is not
    "log.written",  # a group of events is written, not synced
    "log.synced",  # it is durable, not applied
    "log.applied",  # the first of its calls is applied, not answered
    "log.answered",
    "site.put",  # a site is in the open transaction
    "site.changed",  # events were added to the state of a site
    "states.committed",  # a cut of all sites is durable
    "file.drafted",  # a file is durable under its passing name
    "file.renamed",  # it has its name, which is not durable
    "log.marked",  # what is to be cut from a log is known, and still there
    "crawl.doomed",  # a crawl is deleted, its files are still there
)
"""Places of the core, in the order in which a page and a snapshot pass them; an annex names its own."""


def _nothing(place: str) -> None:
    """Go on."""


reached: Callable[[str], None] = _nothing
"""What is called at each place."""
