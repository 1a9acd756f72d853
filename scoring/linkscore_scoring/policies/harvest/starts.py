"""What arms start with: `WarmStart`, by what was learned on other sites; `ExampleUrls`, by URLs of examples.

Pulls are kept by URL pattern and link path. Link paths are hashes of their text and mean the same everywhere;
a URL pattern is a number that means something on one site only, and is told to others by its *shape*. Nothing
here is state: it follows from what was given, the arms and the patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from math import sqrt

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.experience import ANYTHING, Experience, LinkGroup
from linkscore_scoring.policies.harvest.arms import ANY, Counts, HierarchicalArms, Node
from linkscore_scoring.policies.harvest.tunables import DEFAULTS, Tunables
from linkscore_scoring.sums import left_sum
from linkscore_scoring.urls.pattern_tree import UrlPatterns, is_fixed, url_tokens, wildcard_of

# What a slot of a URL may say and be no name of a page: a word, maybe with digits (#) or an extension.
_WORD = re.compile(r"[/:]?(?:\w+=)?[^\W_]{1,16}#?(?:\.[A-Za-z#]{1,5})?")


class _Known:
    """One experience: its groups by (shape, link path), and how far it is trusted here, in [0, 1].

    `trust_against` is how far it is where it speaks against links.
    """

    def __init__(self, experience: Experience) -> None:
        self.groups = {(group.shape, group.link_path): group for group in experience.groups}
        self.trust = self.trust_against = 0.0


class WarmStart:
    """Pulls of other sites that the arms of this one start with.

    Each experience counts by its own trust = likeness x evidence^2. Likeness is the share of the arms found
    here that it knows (each by the root of its links): software leaves its tag paths and URL shapes on every
    site. Evidence = min(1, (1 + D0) / (1 + D)), D the squared error of its rewards, scaled, for what the arms
    brought here by now, D0 that of the mean of the site: one that misleads fades, one that knows no better
    than the mean does no harm by staying. All of them together count as 8 pulls of a node at most.

    Where it speaks against links, by a reward below the site's mean, it counts likeness x evidence^4: what it
    praises wrongly is fetched and put right, what it holds down wrongly would not be.

    Trust is judged anew after each event.

    Parameters
    ----------
    experiences
        What was learned elsewhere.
    patterns
        URL patterns of this site.
    tunables
        How far it counts, and how trust is judged.

    Notes
    -----
    Not from a paper; that a prior should lose weight as it errs is that of exponentially weighted experts
    (Cesa-Bianchi and Lugosi 2006, chapter 2). Cost: O(256 arms) an event.
    """

    def __init__(
        self,
        experiences: Iterable[Experience],
        patterns: UrlPatterns,
        tunables: Tunables = DEFAULTS,
    ) -> None:
        self._t = tunables
        self._known = [_Known(experience) for experience in experiences]
        self._patterns = patterns
        self._shapes: dict[int, Sequence[int]] = {}
        self._counts: dict[Node, Counts | None] = {}
        self._mean = 0.0

    @property
    def trust(self) -> list[float]:
        """How far each experience is trusted, in [0, 1]."""
        return [known.trust for known in self._known]

    def counts(self, node: Node) -> Counts | None:
        """Return the pulls, rewards and hub yields that a node starts with, None if nothing is known."""
        if node not in self._counts:
            self._counts[node] = self._counted(node)
        return self._counts[node]

    def judge(self, arms: HierarchicalArms) -> None:
        """Say anew how far each experience holds here."""
        self._shapes, self._counts = {}, {}
        for known in self._known:
            evidence = self._evidence(known, arms) ** 2
            known.trust = self._likeness(known, arms) * evidence
            known.trust_against = known.trust * evidence
        self._mean = arms.own_mean

    def _likeness(self, known: _Known, arms: HierarchicalArms) -> float:
        """Return the share of the arms found here that are known, each by the root of its links."""
        shared = found = 0.0
        for arm, links in islice(arms.links(), self._t.at_once):
            found += sqrt(links)
            shared += sqrt(links) if self._group(known, arm) is not None else 0.0
        return shared / found if found else 0.0

    def _evidence(self, known: _Known, arms: HierarchicalArms) -> float:
        """Return how its rewards fit what arms brought here, against the mean of the site; in (0, 1].

        Errors are squared and add up by pulls; one pull that is all wrong is granted to both.
        """
        t = self._t
        found = [
            (min(pulls, t.most_pulls), reward, group.reward)
            for arm, pulls, reward in islice(arms.pulled(), t.at_once)
            if (group := self._group(known, arm)) is not None
        ]
        brought, said = (left_sum(pulls * row[column] for pulls, *row in found) for column in (0, 1))
        before = self._t.prior_weight
        scale = min(1.0, max(t.least_scale, (before + brought) / (before + said)))
        error = left_sum(pulls * (reward - scale * said) ** 2 for pulls, reward, said in found)
        baseline = left_sum(pulls * (reward - arms.own_mean) ** 2 for pulls, reward, _ in found)
        return min(1.0, (1.0 + baseline) / (1.0 + error))

    def _counted(self, node: Node) -> Counts | None:
        most = self._t.most_pulls
        counted = [
            (self._trust(known, group) * min(group.fetches, most), group)
            for known in self._known
            if known.trust and (group := self._group(known, node)) is not None
        ]
        if not counted:
            return None
        share = min(1.0, most / left_sum(pulls for pulls, _ in counted))
        return [
            share * left_sum(pulls for pulls, _ in counted),
            share * left_sum(pulls * group.reward for pulls, group in counted),
            share * left_sum(pulls * group.hub for pulls, group in counted),
        ]

    def _trust(self, known: _Known, group: LinkGroup) -> float:
        return known.trust_against if group.reward < self._mean else known.trust

    def _group(self, known: _Known, node: Node) -> LinkGroup | None:
        """Return what an experience knows of a node, by the finest shape that it knows."""
        pattern, link_path = node
        if pattern not in self._shapes:
            self._shapes[pattern] = shapes_of(self._patterns, pattern)
        of_path = ANYTHING if link_path == ANY else link_path
        found = (known.groups.get((shape, of_path)) for shape in self._shapes[pattern])
        return next((group for group in found if group is not None), None)


def experience_of(arms: HierarchicalArms, patterns: UrlPatterns) -> Experience:
    """Return what the arms of a site learned here, without what they started with."""
    sums: dict[tuple[int, int], Counts] = {}
    for (pattern, link_path), counts in arms.own_counts():
        key = shapes_of(patterns, pattern)[0], ANYTHING if link_path == ANY else link_path
        found = sums.setdefault(key, [0.0, 0.0, 0.0])
        sums[key] = [before + more for before, more in zip(found, counts, strict=True)]
    return Experience.of(
        LinkGroup(*key, pulls, _mean(rewards, pulls), _mean(hubs, pulls))
        for key, (pulls, rewards, hubs) in sums.items()
        if pulls > 0.0
    )


def shapes_of(patterns: UrlPatterns, pattern: int) -> list[int]:
    """Return hashes of what the URLs of a pattern look like on any site, the finer one first.

    The shape is the pattern without its host, names of pages as wildcards: ``/forum/viewtopic.php?t`` stays,
    ``/blog/my-first-post`` is ``/blog/*``. A word that comes last may be a name too (``/tag/linux``): the
    second shape has a wildcard for it, as the pattern of a site that knows more such pages has.

    Examples
    --------
    >>> patterns = UrlPatterns()
    >>> one, other = patterns.insert("http://a/blog/my-1st"), patterns.insert("http://b/blog/x-y-z")
    >>> shapes_of(patterns, one) == shapes_of(patterns, other)
    True
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


def _mean(total: float, pulls: float) -> float:
    return min(1.0, max(0.0, total / pulls))  # revised pulls may leave a little below or above


class ExampleUrls:
    """Pulls that URL patterns start with because an example has their shape.

    Where a pattern has the shape of an example, its links are taken to have brought a page like it once,
    before any was fetched; what they bring outvotes that soon. Shapes are alike if they have the same slots,
    where the pattern may have a wildcard. If there is no query, the last name of the path may differ too:
    there pages of one kind have their names, and `/user/ann` is all the tree knows before it meets more.

    Parameters
    ----------
    keys
        Identities of the examples, empty for one without URL.
    patterns
        URL patterns of the site.
    tunables
        How many shapes are remembered.

    Notes
    -----
    Not from a paper. Cost: O(slots) a question, O(examples x slots) for a pattern not asked about before.

    Examples
    --------
    >>> patterns = UrlPatterns()
    >>> user, tag = patterns.insert("http://h.example/user/ann"), patterns.insert("http://h.example/tag/qt")
    >>> named = ExampleUrls(["http://h.example/user/bob"], patterns)
    >>> named.counts((user, ANY)), named.counts((tag, ANY))
    ([1.0, 1.0, 0.0], None)
    """

    def __init__(self, keys: Iterable[str], patterns: UrlPatterns, tunables: Tunables = DEFAULTS) -> None:
        self._patterns = patterns
        self._t = tunables
        self._shapes = dict.fromkeys(tuple(url_tokens(key)) for key in keys if key)
        self._known: dict[tuple[str, ...], bool] = {}

    def __bool__(self) -> bool:
        return bool(self._shapes)

    def counts(self, node: Node) -> Counts | None:
        """Return pulls, rewards and hub yields that a node starts with, None if no example says anything."""
        pattern, link_path = node
        if link_path != ANY or pattern <= 0 or not self._is_named(pattern):
            return None
        return [1.0, 1.0, 0.0]

    def _is_named(self, pattern: int) -> bool:
        tokens = tuple(self._patterns.tokens(pattern))
        if tokens not in self._known:
            drop_oldest(self._known, self._t.pages - 1)
            self._known[tokens] = any(_has_shape(tokens, shape) for shape in self._shapes)
        return self._known[tokens]


def _has_shape(pattern: Sequence[str], shape: Sequence[str]) -> bool:
    """Say whether a pattern has the slots of a URL, but for the last name."""
    if len(pattern) != len(shape):
        return False
    free = _last_name(shape)
    return all(
        a == b or a == wildcard_of(b) or (place == free and _may_be_names(a, b))
        for place, (a, b) in enumerate(zip(pattern, shape, strict=True))
    )


def _may_be_names(a: str, b: str) -> bool:
    return wildcard_of(a) == wildcard_of(b) and not (is_fixed(a) or is_fixed(b))


def _last_name(shape: Sequence[str]) -> int:
    """Return the place of the last name of a path, -1 without one or before a query: that names a script."""
    names = [place for place, slot in enumerate(shape) if slot[:1] in {"/", ":"} and slot != "/"]
    has_query = any(slot.startswith("?") for slot in shape)
    return names[-1] if names and not has_query else -1
