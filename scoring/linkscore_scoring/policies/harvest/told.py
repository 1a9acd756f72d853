"""What was told beside the crawl: example pages, and what was learned on other sites.

Is a fetched page like one of the examples? By its layout, and by the shape of its URL. What do arms start
with? Link paths are hashes of their text and mean the same everywhere; a URL pattern is a number of one site,
and is told to others by its *shape*.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from math import log, sqrt
from statistics import fmean

import numpy as np

from linkscore_scoring.clustering.class_paths import PathNodes
from linkscore_scoring.columns import drop_oldest, left_sum
from linkscore_scoring.features.types import PathTrie, normal_tokens
from linkscore_scoring.hashing import hash64, hash_of
from linkscore_scoring.policies.answers import ANYTHING, Experience, LinkGroup
from linkscore_scoring.policies.harvest.tables import ANY, Floats, Tables, Worked
from linkscore_scoring.policies.harvest.tunables import DEFAULTS, Tunables
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import ExamplePage
from linkscore_scoring.urls.pattern_tree import UrlPatterns, is_fixed, url_tokens, wildcard_of

Vector = dict[int, float]
"""Hash of a tag path -> weight."""

_MARKUP_TAGS = frozenset(
    (
        *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "center"),
        *("ul", "ol", "li", "dl", "dt", "dd", "span", "font", "abbr", "cite", "q"),
        *("b", "i", "u", "s", "em", "strong", "small", "big", "strike", "del", "ins", "sub", "sup"),
        *("code", "kbd", "samp", "tt", "var"),
    )
)


class Likeness(Stateful):
    """Labels pages by the nearest page that somebody named: cosine of layouts, and a URL of the same shape.

    Layout tells templates apart; the shape of the URL parts what shares one layout, as a thread and its
    permalinks do. Where it does not tell, as examples of one layout have no URL or one of a shape that no
    other has, a page is alike if it is as near as the farthest of these is to its nearest fellow. An example
    given by its URL alone speaks for its shape, a little, until its page is known. Paths are weighed by a
    background: the examples and the latest pages that were *not* like them, learned anew whenever these have
    doubled. Unlike is a page that is nearer to one of `refused`, by a URL of its shape: pages that feedback
    calls not wanted. `led`: where the pages of examples were found, by their URL.

    Not from a paper. Cost: O(nodes + examples x paths) a page, 0.2 to 1 ms; a fit reads 256 pages.
    """

    layouts: Stored[Layouts]
    found: Stored[dict[str, PathTrie]]
    led: Stored[dict[str, str]]
    refused: Stored[dict[str, PathTrie]]
    unlike: Stored[int]
    due: Stored[int]
    untold: Stored[list[float]]  # of each example, the share of those of its layout whose shape no other has

    def __init__(self, tunables: Tunables = DEFAULTS) -> None:
        self._t = tunables
        self.layouts = Layouts(tunables)
        self.examples: list[ExamplePage] = []
        self.keys: frozenset[int] = frozenset()  # identity hashes of the examples
        self._wanted: list[tuple[str, Vector]] = []
        self.refused, self._unwanted = {}, list[tuple[str, Vector]]()
        self.unlike, self.due, self.untold = 0, 2, []

    def __len__(self) -> int:
        """How many examples there are whose layout is known."""
        return sum(bool(vector) for _, vector in self._wanted)

    def set_examples(self, examples: Iterable[ExamplePage]) -> bool:
        """Take over the example pages, all of them; say whether they are others than before."""
        before, self.examples = self.examples, list(examples)
        for example in self.examples:
            if example.paths.tags and example not in before:
                self.layouts.see(example.paths)
        self.keys = frozenset().union(*(_hashes(example.key) for example in self.examples if example.key))
        return self.examples != before

    def see(self, key: int, url: str, paths: PathTrie, aliases: Mapping[int, int]) -> bool:
        """Take in a fetched page, and say whether a fit is due."""
        self.layouts.see(paths)
        return self.find(key, url, paths, aliases) or self.unlike >= self.due

    def find(self, key: int, url: str, paths: PathTrie, aliases: Mapping[int, int]) -> bool:
        """Take layout and URL of a page that `aliases` say an example without HTML, or moved, leads to."""
        met = [
            one.key
            for one in self.examples
            if (url != one.key or not one.paths.tags)
            and key in {aliases.get(asked, asked) for asked in _hashes(one.key)}
        ]
        self.found.update(dict.fromkeys(met, paths))
        self.led.update(dict.fromkeys(met, url))
        return bool(met)

    def fit(self, unlike: Sequence[PathTrie], patterns: UrlPatterns) -> None:
        """Learn the weights of paths from the examples and the latest of the pages that are not like them."""
        self.unlike = max(self.unlike, len(unlike))
        self.due = 2 * max(1, self.unlike)
        shown = [paths for paths in map(self._paths, self.examples) if paths.tags]
        self.layouts.fit([*shown, *islice(reversed(unlike), self._t.at_once)])
        self.after_load()
        keys = [key for key, _ in self._wanted]
        alone = [
            not any(keys[at] and patterns.could_be_one(key, keys[at]) for at in like)
            for key, like in zip(keys, self._fellows, strict=True)
        ]
        self.untold = [
            fmean(alone[at] for at in (i, *like)) if like else float(not keys[i])
            for i, like in enumerate(self._fellows)
        ]

    def label(self, url: str, paths: PathTrie, patterns: UrlPatterns) -> tuple[float, float, bool]:
        """Return how far a page is like an example, the nearest cosine, and whether layout alone may say so.

        By an example of its URL's shape 1 at the least cosine that counts as alike, below it (cosine /
        least)^2. By one of another shape as far as shapes do not tell. A little if only its shape is known.
        """
        t, vector = self._t, self.layouts.vector(paths)
        near = [cosine(vector, shown) for _, shown in self._wanted]
        nearest = max(near)
        if any(cosine(vector, no) > nearest and patterns.could_be_one(at, url) for at, no in self._unwanted):
            return 0.0, nearest, False
        fits = [bool(key) and patterns.could_be_one(key, url) for key, _ in self._wanted]
        if known := [n for n, fit, (_, shown) in zip(near, fits, self._wanted, strict=True) if fit and shown]:
            return min(1.0, max(known) / t.least_cosine) ** 2, nearest, False
        if any(fits):
            return t.shape, nearest, False
        at = near.index(nearest)
        power = t.same_layout if self._wanted[at][0] else 2.0
        label = self.untold[at] * min(1.0, nearest / self._least) ** power
        return label, nearest, label > 0.0 and nearest >= t.least_cosine

    def _paths(self, example: ExamplePage) -> PathTrie:
        return example.paths if example.paths.tags else self.found.get(example.key, example.paths)

    def after_load(self) -> None:
        """Make the vectors of the pages that were named; the examples come with the crawl."""
        vector, least = self.layouts.vector, self._t.least_cosine
        self._wanted = [(self.led.get(one.key, one.key), vector(self._paths(one))) for one in self.examples]
        self._unwanted = [(url, vector(paths)) for url, paths in self.refused.items()]
        near = [
            [0.0 if one is other else cosine(one, other) for _, other in self._wanted[: self._t.few_pages]]
            for _, one in self._wanted
        ]
        self._fellows = [[at for at, n in enumerate(row) if n >= least] for row in near]
        nearest = [max(row) for row, (_, shown) in zip(near, self._wanted, strict=True) if shown]
        self._least = max(least, min(nearest, default=least))


class Layouts(Stateful):
    """Turns tag paths into vectors ln(tf + 1) x ln(n / df + 1), as the crawl goes on.

    A class token counts once it is on three pages, two while fewer than 40 are known; digits are folded.
    Elements an author marks text up with (``p``, ``ul``, ``strong``, ...) count only with a class. Each
    stands on two paths, with all classes and with none: one of the body may name the author.
    """

    pages: Stored[int]
    tokens: Stored[Counter[str]]
    kept: Stored[frozenset[str]]
    df: Stored[dict[int, int]]
    n: Stored[int]

    def __init__(self, tunables: Tunables = DEFAULTS) -> None:
        self._t = tunables
        self.pages, self.n = 0, 1
        self.tokens, self.df = Counter(), {}
        self.kept: frozenset[str] = frozenset()
        self.after_load()

    def see(self, paths: PathTrie) -> None:
        """Count the class tokens of a page."""
        self.pages += 1
        # Sorted, or the order of the state would depend on the hash seed of the process.
        self.tokens.update(sorted({t for classes in set(paths.classes) for t in normal_tokens(classes)}))
        drop_oldest(self.tokens, self._t.kept)

    def fit(self, background: Sequence[PathTrie]) -> None:
        """Choose the tokens that count, and count paths over some pages."""
        least = 2 if self.pages < self._t.few_pages else self._t.few
        self.kept = frozenset(token for token, pages in self.tokens.items() if pages >= least)
        self.after_load()
        self.df = dict(Counter(path for paths in background for path in self._bag(paths)))
        self.n = max(1, len(background))

    def vector(self, paths: PathTrie) -> Vector:
        """Return the vector of a page, length 1 unless it is empty."""
        df, n = self.df, self.n
        weights = {
            path: log(tf + 1.0) * log(n / df.get(path, 1) + 1.0) for path, tf in self._bag(paths).items()
        }
        norm = sqrt(left_sum(w * w for w in weights.values()))
        return {path: w / norm for path, w in weights.items()}

    def _bag(self, paths: PathTrie) -> dict[int, int]:
        return self._full.bag(paths) | self._bare.bag(paths)

    def _element(self, tag: str, classes: str) -> str:
        kept = [token for token in normal_tokens(classes) if token in self.kept]
        return " ".join([tag, *kept]) if kept or tag not in _MARKUP_TAGS else ""

    def after_load(self) -> None:
        """Forget the paths made with the tokens of before."""
        self._full = PathNodes(self._element, hash64)
        self._bare = PathNodes(lambda *of: self._element(*of).partition(" ")[0], hash64, separator="/")


def _hashes(key: str) -> set[int]:
    """Return the identity hashes of a URL by both schemes: an example may have the other one."""
    return {hash_of(f"{scheme}://{key.partition('://')[2]}") for scheme in ("http", "https")}


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two vectors of length 1."""
    few, many = (one, other) if len(one) < len(other) else (other, one)
    return left_sum(w * many[path] for path, w in few.items() if path in many)


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
    """

    def __init__(self, tunables: Tunables = DEFAULTS) -> None:
        self._t = tunables
        self._known: list[dict[tuple[int, int], LinkGroup]] = []
        self._examples: list[list[str]] = []
        self._trust: list[float] = []

    def set_experience(self, experiences: Iterable[Experience], patterns: UrlPatterns) -> None:
        self._patterns = patterns
        self._known = [{(g.shape, g.link_path): g for g in each.groups} for each in experiences]
        self._trust = [0.0] * len(self._known)

    def set_examples(self, keys: Iterable[str], patterns: UrlPatterns) -> None:
        """Take over the identities of the examples, empty for one without URL."""
        self._patterns = patterns
        self._examples = [url_tokens(key) for key in dict.fromkeys(keys) if key]

    def trust_in(self, tables: Tables) -> list[float]:
        """Return how far each experience is trusted, in [0, 1]."""
        if self._trust:
            Worked(tables)
        return self._trust

    def __call__(self, tables: Tables, worked: Worked) -> Floats:
        """Return pulls, rewards and hub yields of each node, (3, n_nodes)."""
        started = self._learned(tables, worked)
        if self._examples:
            named = [
                row
                for (pattern, path), row in tables.node_of.items()
                if path == ANY and self._is_named(pattern)
            ]
            started[:2, named] += 1.0
        return started

    def _learned(self, tables: Tables, worked: Worked) -> Floats:
        t, counted = self._t, np.zeros((3, tables.nodes.rows))
        for i, known in enumerate(self._known):
            patterns = {pattern for pattern, _ in tables.node_of}
            shapes = {at: shapes_of(self._patterns, at) if at >= ANY else [] for at in patterns}
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
