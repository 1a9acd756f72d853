"""What arms start with: what was learned on other sites, and what the URLs of examples say.

Link paths are hashes of their text and mean the same everywhere; a URL pattern is a number that means
something on one site only, and is told to others by its *shape*. Nothing here is state: it follows from what
was given, the tables and the patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.answers import ANYTHING, Experience, LinkGroup
from linkscore_scoring.policies.harvest.tables import ANY, Floats, Tables, Worked
from linkscore_scoring.policies.harvest.tunables import DEFAULTS, Tunables
from linkscore_scoring.urls.pattern_tree import UrlPatterns, is_fixed, url_tokens, wildcard_of

# What a slot of a URL may say and be no name of a page: a word, maybe with digits (#) or an extension.
_WORD = re.compile(r"[/:]?(?:\w+=)?[^\W_]{1,16}#?(?:\.[A-Za-z#]{1,5})?")


class Starts:
    """Pulls, rewards and hub yields that the nodes of a site start with.

    Each experience counts by its own trust = likeness x evidence^2. Likeness is the share of the arms found
    here that it knows, each by the root of its links. Evidence = min(1, (1 + D0) / (1 + D)), D the squared
    error of its rewards, scaled, for what the arms brought here, D0 that of the mean of the site. All of them
    together count as 8 pulls of a node at most. Against links it counts likeness x evidence^4: what it
    holds down wrongly would not be put right. A pattern that has the shape of an example counts as
    pulled once, for a page like it. After exponentially weighted experts (Cesa-Bianchi and Lugosi 2006).

    Cost: O(nodes) an event.
    """

    def __init__(self, patterns: UrlPatterns, tunables: Tunables = DEFAULTS) -> None:
        self._patterns, self._t = patterns, tunables
        self._known: list[dict[tuple[int, int], LinkGroup]] = []
        self._examples: list[list[str]] = []
        self._trust: list[float] = []

    def set_experience(self, experiences: Iterable[Experience]) -> None:
        self._known = [{(g.shape, g.link_path): g for g in each.groups} for each in experiences]
        self._trust = [0.0] * len(self._known)

    def set_examples(self, keys: Iterable[str]) -> None:
        """Take over the identities of the examples, empty for one without URL."""
        self._examples = [url_tokens(key) for key in dict.fromkeys(keys) if key]

    def trust_in(self, tables: Tables) -> list[float]:
        """Return how far each experience is trusted, in [0, 1]."""
        if self._trust:
            Worked(tables)
        return self._trust

    def __call__(self, tables: Tables, worked: Worked) -> Floats | None:
        """Return pulls, rewards and hub yields of each node, (3, n_nodes); None if nothing was told."""
        if not (self._known or self._examples):
            return None
        started = np.zeros((3, tables.nodes.rows))
        if self._known:
            started += self._learned(tables, worked)
        if self._examples:
            named = [
                row
                for (pattern, path), row in tables.node_of.items()
                if path == ANY and self._is_named(pattern)
            ]
            started[:2, named] += 1.0
        return started

    def _learned(self, tables: Tables, worked: Worked) -> Floats:
        t, shapes = self._t, dict[int, Sequence[int]]()
        for pattern, _ in tables.node_of:
            if pattern not in shapes:
                shapes[pattern] = shapes_of(self._patterns, pattern) if pattern >= ANY else []
        counted = np.zeros((3, tables.nodes.rows))
        for i, known in enumerate(self._known):
            told = np.array([_told(known, shapes[node[0]], node[1]) for node in tables.node_of])
            self._trust[i], against = self._judged(told, tables, worked)
            trust = np.where(told[:, 1] < worked.site_mean, against, self._trust[i])
            pulls = trust * np.minimum(told[:, 0], t.evidence)
            counted += [pulls, pulls * told[:, 1], pulls * told[:, 2]]
        share: Floats = t.evidence / np.maximum(t.evidence, counted[0])
        return counted * share

    def _judged(self, told: Floats, tables: Tables, worked: Worked) -> tuple[float, float]:
        """Return how far an experience is trusted here, and where it speaks against links."""
        t, is_known = self._t, told[:, 0] > 0
        waiting, pulls, is_arm = tables.nodes["waiting"], worked.own_n, tables.all_rows[2] > 0
        links = np.where(waiting > 0, waiting, pulls) * is_arm
        root = np.sqrt(links[np.flatnonzero(links)[: t.at_once]])
        if not len(root):
            return 0.0, 0.0
        likeness = float(root[is_known[np.flatnonzero(links)[: t.at_once]]].sum() / root.sum())
        arms = np.flatnonzero((pulls > 0.0) & is_arm & is_known)[: t.at_once]
        reward, said = worked.own_reward[arms] / pulls[arms], told[arms, 1]
        weight = np.minimum(pulls[arms], t.evidence)
        brought, promised = t.prior_weight + weight @ reward, t.prior_weight + weight @ said
        scale = min(1.0, max(t.least_scale, brought / promised))
        error = weight @ (reward - scale * said) ** 2
        baseline = weight @ (reward - worked.site_mean) ** 2
        evidence = min(1.0, float((1.0 + baseline) / (1.0 + error))) ** 2
        return likeness * evidence, likeness * evidence**2

    def _is_named(self, pattern: int) -> bool:
        if pattern <= 0:
            return False
        tokens = self._patterns.tokens(pattern)
        return any(_has_shape(tokens, shape) for shape in self._examples)


def _told(
    known: dict[tuple[int, int], LinkGroup], shapes: Sequence[int], path: int
) -> tuple[float, float, float]:
    """Return fetches, reward and hub yield that are known of a node, by its finest shape that is."""
    of_path = ANYTHING if path == ANY else path
    group = next((known[shape, of_path] for shape in shapes if (shape, of_path) in known), None)
    return (group.fetches, group.reward, group.hub) if group is not None else (0.0, 0.0, 0.0)


def experience_of(tables: Tables, patterns: UrlPatterns) -> Experience:
    """Return what the arms of a site learned here, without what they started with."""
    worked, sums = Worked(tables), dict[tuple[int, int], Floats]()
    for (pattern, path), row in tables.node_of.items():
        if worked.own_n[row] > 0.0:
            key = shapes_of(patterns, pattern)[0], ANYTHING if path == ANY else path
            own = np.array([worked.own_n[row], worked.own_reward[row], worked.own_hub[row]])
            sums[key] = sums.get(key, 0.0) + own
    return Experience.of(
        LinkGroup(*key, float(n), *np.clip([reward / n, hub / n], 0.0, 1.0).tolist())
        for key, (n, reward, hub) in sums.items()
    )


def shapes_of(patterns: UrlPatterns, pattern: int) -> list[int]:
    """Return hashes of what the URLs of a pattern look like on any site, the finer one first.

    The shape is the pattern without its host, names of pages as wildcards: ``/forum/viewtopic.php?t`` stays,
    ``/blog/my-first-post`` is ``/blog/*``. A word that comes last may be a name too (``/tag/linux``): the
    second shape has a wildcard for it, as the pattern of a site that knows more such pages has.
    """
    if pattern == ANY:
        return [ANYTHING]
    slots = [_slot(token) for token in patterns.tokens(pattern)[1:]]
    shapes = [slots]
    names = [i for i, slot in enumerate(slots) if slot[:1] in {"/", ":"} and not is_fixed(slot)]
    if names:
        shapes.append([wildcard_of(slot) if i == names[-1] else slot for i, slot in enumerate(slots)])
    return [hash64(" ".join(shape)) for shape in shapes]


def _slot(token: str) -> str:
    """Return a slot of a URL as it looks on any site."""
    is_kept = is_fixed(token) or token.startswith("?") or _WORD.fullmatch(token)
    return token if is_kept else wildcard_of(token)


def _has_shape(pattern: Sequence[str], shape: Sequence[str]) -> bool:
    """Say whether a pattern has the slots of a URL, but for the last name.

    A slot of the pattern may be a wildcard. Without a query the last name of the path may differ: pages of
    one kind have their names there, and `/user/ann` is all the tree knows before it meets more.
    """
    if len(pattern) != len(shape):
        return False
    names = [place for place, slot in enumerate(shape) if slot[:1] in {"/", ":"} and slot != "/"]
    free = names[-1] if names and not any(slot.startswith("?") for slot in shape) else -1
    return all(
        a == b
        or a == wildcard_of(b)
        or (place == free and wildcard_of(a) == wildcard_of(b) and not (is_fixed(a) or is_fixed(b)))
        for place, (a, b) in enumerate(zip(pattern, shape, strict=True))
    )
