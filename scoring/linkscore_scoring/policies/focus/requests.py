"""Pages that a crawler may fetch to make the way certain sooner, and where a crawl should start."""

from __future__ import annotations

from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.focus.entry import Candidate
from linkscore_scoring.policies.focus.forum_model import EitModel
from linkscore_scoring.policies.focus.links import known_identity
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import SeedWanted, Suggestion

TRIES = 3
"""Pages asked for of one URL pattern; links of a group that stays open after them wait their turn."""

_ENTRIES = 6


def wanted(model: EitModel, n: int, site: SiteModel) -> list[Suggestion]:
    """Return up to `n` unfetched pages, most urgent first; cost O(open ways)."""
    found = [] if model.entry is not None else _entries(model, site)
    tried: set[int] = set()
    for pattern, _ in model.paths.open():
        if len(found) >= n:
            break
        if pattern not in tried and model.votes.pages(pattern) < TRIES:
            tried.add(pattern)
            found += _open(model, pattern, site)[:1]
    return found[:n]


def seeds(model: EitModel, n: int) -> list[SeedWanted]:
    """Return up to `n` pages to start from: the entry if one is found, then the other candidates."""
    found = []
    if model.entry is not None:
        shown = model.n_index(model.entry.ways or {})
        value = 1.0 if model.certainty.ready else 0.5
        found.append(SeedWanted(model.entry.url, f"entry: links to {shown} index URLs", value))
    named = {seed.url for seed in found}
    for place, candidate in enumerate(c for c in model.entries.candidates() if c.url not in named):
        found.append(SeedWanted(candidate.url, _reason(candidate, model), 0.25 / (1.0 + place)))
    return found[:n]


def _entries(model: EitModel, site: SiteModel) -> list[Suggestion]:
    unseen = [c for c in model.entries.candidates() if c.ways is None and not _is_fetched(c.url, site)]
    return [Suggestion(c.url, _reason(c, model), 0.9) for c in unseen[:_ENTRIES]]


def _open(model: EitModel, pattern: int, site: SiteModel) -> list[Suggestion]:
    name = model.patterns.text(pattern) or "any URL"
    reason = f"stands on an index page, and nobody knows yet what {name} is"
    urls = model.places.samples(pattern).items()
    return [Suggestion(url, reason, 0.6) for key, url in urls if not site.memory.is_fetched(key)]


def _reason(candidate: Candidate, model: EitModel) -> str:
    if not candidate.linked:
        return "may be the entry: root, folder or forum part of the first URL"
    return f"may be the entry: {candidate.linked} of {model.entries.pages} pages link to it"


def _is_fetched(url: str, site: SiteModel) -> bool:
    return site.memory.is_fetched(hash64(known_identity(url)))
