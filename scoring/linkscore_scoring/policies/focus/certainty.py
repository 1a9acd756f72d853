"""Is there a way from an entry over indexes to threads, beyond doubt? One sentence, with numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linkscore_scoring.policies.focus.forum_model import EitModel

_THREADS, _INDEXES = 3, 2
_UNPAGED_THREADS = 20
_THREAD_SHARE, _ON_WAY_SHARE = 0.1, 0.3


@dataclass(frozen=True, slots=True)
class Certainty:
    """Whether the way is certain, and why or why not in words."""

    ready: bool
    text: str


UNCERTAIN = Certainty(False, "abstains: no page was seen yet")


def certainty(model: EitModel) -> Certainty:
    """Return how certain the way is; cost O(patterns on the way).

    Certain: 3 thread pages and 2 index pages of patterns decided by vote, at least a tenth of all pages seen
    are such threads, three tenths threads or indexes, and some of them have page flips; without flips 20
    threads must outnumber the indexes. What was certain stays so down to half the shares. Fixed by hand;
    `wiki_x3` is the site that must not pass.
    """
    slack = 0.5 if model.certainty.ready else 1.0
    threads, index = sum(model.paths.thread.values()), sum(model.paths.index.values())
    index += model.entry is not None
    share, on_way = slack * _THREAD_SHARE, slack * _ON_WAY_SHARE
    missing = [
        why
        for why, lacks in (
            (
                f"page layouts are known of {model.typed} of {model.pages} pages",
                2 * model.typed < model.pages,
            ),
            (f"{threads:.0f} thread pages of decided patterns, {_THREADS} are needed", threads < _THREADS),
            (f"{index:.0f} index pages of decided patterns, {_INDEXES} are needed", index < _INDEXES),
            (
                f"threads are {_percent(threads, model)} of the pages seen, {share:.0%} are needed",
                threads < share * model.typed,
            ),
            (
                f"the way is {_percent(threads + index, model)} of the pages seen, {on_way:.0%} are needed",
                threads + index < on_way * model.typed,
            ),
            (
                f"no page flips on these, and not {_UNPAGED_THREADS} threads that outnumber the indexes",
                not model.votes.turning() and (threads < _UNPAGED_THREADS or threads < index),
            ),
        )
        if lacks
    ]
    if missing:
        return Certainty(False, f"abstains, no forum so far: {'; '.join(missing)}")
    return Certainty(True, _found(threads, index, model))


def _found(threads: float, index: float, model: EitModel) -> str:
    paths = model.paths
    entry = f"entry {model.entry.url}" if model.entry is not None else "no entry found yet"
    again = f"; {model.relearned} patterns learned anew" if model.relearned else ""
    return (
        f"follows {len(paths.index)} index and {len(paths.thread)} thread URL patterns, {len(paths.flips)} "
        f"of them page flips, by {index:.0f} index and {threads:.0f} thread pages of {model.typed}; "
        f"{entry}{again}"
    )


def _percent(part: float, model: EitModel) -> str:
    return f"{part / max(1, model.typed):.0%}"
