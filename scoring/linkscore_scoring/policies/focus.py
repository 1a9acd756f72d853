"""FoCUS: follow the way from the entry of a forum over its indexes to its threads (Jiang 2013)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkscore_scoring.errors import FieldProblem, reading_state
from linkscore_scoring.learners.eit.model import EitModel, SeenPage, known_identity
from linkscore_scoring.learners.eit.votes import ANY, UNDECIDED, Shares
from linkscore_scoring.policies.base import FOLLOW, NO_VERDICT, SKIP, Explanation, Scored, Scores, Term
from linkscore_scoring.policies.with_fallback import FallbackParams, WithFallback
from linkscore_scoring.site.links import LinkBatch, PageObservation
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.site.suggestion import Suggestion
from linkscore_scoring.site.url_rules import INDEX, OTHER, PAGE_FLIP, THREAD, SeedWanted, UrlRule

_VALUES = {THREAD: 0.9, PAGE_FLIP: 0.8, INDEX: 0.6, UNDECIDED: 0.4, OTHER: 0.02}
_VERDICTS = {UNDECIDED: NO_VERDICT, OTHER: SKIP}
_TRIES = 3


class Focus(WithFallback):
    name = "focus"
    Params = FallbackParams
    reads_templates = False
    reads_layout = True

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self.model = EitModel()

    def observe(self, page, site):
        super().observe(page, site)
        if page.refetch: return
        self.model.take_bounds(site.bounds)
        if page.failed:
            self.model.fail(page, site)
        else:
            self.model.observe(page, self._seen(page), site)

    def _seen(self, page):
        return SeenPage((0,0,0))

    def is_ready(self, site):
        p = self.model.paths
        v = self.model.votes
        return sum(p.thread.values()) >= 3 and sum(p.index.values()) + (self.model.entry is not None) >= 2

    def judge(self, links, site):
        places = self.places(links, site)
        kinds = [self._kind(place, site) for place in places]
        scores = np.array([_VALUES[k] for k in kinds], dtype=np.float64)
        return Scored(scores, places, [_VERDICTS.get(k, FOLLOW) for k in kinds], [k for k in kinds])

    def places(self, links, site):
        e = self.model.expressions
        fits = {url: e.match(known_identity(url)) for url in dict.fromkeys(links.urls)}
        return [f"{p}.{a:x}.{fits[u]}" for p, a, _, u in self.model.link_rows(links, site)]

    def place_values(self, places, site):
        return np.array([_VALUES[self._kind(p, site)] for p in places], dtype=np.float64)

    def _kind(self, place, site):
        try:
            p, a, m = place.split(".")
            p, a, m = int(p[:10]), int(a[:17], 16), int(m[:1])
        except ValueError:
            return OTHER
        return self.model.type_of(p, a, m)

    def explain_own(self, links, site):
        return [Explanation("x", []) for _ in links.urls]

    def fetches_wanted(self, n, site):
        m = self.model
        found = []
        if m.entry is None:
            for c in m.entries.candidates()[:8]:
                from linkscore_scoring.features.hashing import hash64
                from linkscore_scoring.features.urls import identity
                if not site.memory.is_fetched(hash64(identity(c.url))):
                    found.append(Suggestion(c.url, "may be the entry", .9))
        seen=set()
        for (p, a), sup in sorted(m.paths.open.items(), key=lambda kv: -kv[1]):
            if p in seen: continue
            seen.add(p)
            if m.votes.pages(p) >= _TRIES: continue
            for key, url in m.places.samples(p).items():
                if not site.memory.is_fetched(key):
                    found.append(Suggestion(url, "open", .5)); break
        return found[:n]
