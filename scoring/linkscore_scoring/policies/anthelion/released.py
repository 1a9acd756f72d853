"""What the released Anthelion knew of a crawl, with its errors: a baseline to measure against."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import unquote, urlsplit

import numpy as np

from linkscore_scoring.learners.classifiers.base import Features
from linkscore_scoring.learners.classifiers.moa_naive_bayes import MoaNaiveBayes
from linkscore_scoring.policies.anthelion.hashed_random import Floats, tie_of, uniform
from linkscore_scoring.policies.anthelion.host_bandit import HostBandit
from linkscore_scoring.policies.anthelion.host_crawl import MAX_PAGES, HostCrawl, clipped, host_arm, lexical
from linkscore_scoring.policies.anthelion.host_values import HOST_VALUES, USES_BEST
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stored
from linkscore_scoring.types import FeedbackObservation, LinkBatch

SLOTS = 10_000
"""Slots of token hashes, as in the released configuration."""
NUMERIC = 5
"""Numeric features behind the slots: host number, good parent, bad parent, good sibling, bad sibling. The
release never filled the last three."""

NUMBER = "[NUMBER]"
_PIECES = re.compile(r"[a-z0-9]{3,}")

_BUFFER = 5
"""Labels that wait until the classifier is trained: more than these, as released."""
_RANGE = 300.0
"""Powers of ten that margins are put on; doubles end at 10^-308."""


class ReleasedCrawl(HostCrawl):
    """Anthelion as its published code runs, not as it was meant.

    - The features are the paper's tokens in 10,000 slots, the number of the host as a Gaussian, and whether
      the first parent was relevant; the other flags were never filled.
    - The classifier is MOA's naive Bayes, trained when more than five labels wait; the prediction is the
      difference of its raw votes.
    - The host is the *last* one in map order whose value is above 0, or the first one if there is none; a
      host without labels has value 0 unless the prediction enters. Map order is a fixed hash order here.
    - lambda falls to 0 after V pulls.

    Differences: whether a host's value is above 0 is decided for each link by its own prediction, not by the
    best of the queue; selections do not run ahead of labels.
    """

    state_name = "released crawl"
    _hosts: Stored[list[int]]
    _waiting: Stored[list[tuple[str, int, bool, bool]]]
    votes: Stored[MoaNaiveBayes]

    def __init__(self, *, hosts: HostBandit) -> None:
        super().__init__(classifier="moa_naive_bayes", groups=(), hosts=hosts)
        self.votes = MoaNaiveBayes(dim=SLOTS + NUMERIC, gaussian=NUMERIC)
        self._hosts = []
        self._numbers: dict[int, int] = {}
        self._waiting = []

    def learn(self, event: FeedbackObservation, site: SiteModel) -> None:
        """Count the label and put it in the buffer; labels of pages without URL are dropped."""
        self.seq = event.seq
        relevant = event.reward >= 0.5
        if not event.url or self.neighbours.label(event.key) is not None:
            return
        self.hosts.reward(host_arm(site.name), float(relevant))
        parents = [source for source, _ in event.contexts]
        self._waiting.append((event.url, self._number(site), self._good_parent(parents), relevant))
        self.neighbours.note(event.key, parents, relevant)
        if len(self._waiting) > _BUFFER:
            urls, numbers, good, labels = zip(*self._waiting, strict=True)
            self.votes.learn(paper_features(urls, numbers, good), np.array(labels, dtype=np.float64))
            self._waiting = []

    def probs(self, links: LinkBatch, site: SiteModel) -> Floats:
        """Return the margins as numbers in (0, 1) that keep their sign and order: 0.5 is a margin of 0."""
        return clipped(scaled(self.votes.margins(self.of_links(links, site))))

    def scores(self, site: SiteModel, probs: Floats) -> Floats:
        """Return the last host in map order of value above 0 as the highest score, then the first one."""
        place = tie_of(self.hosts.seed, host_arm(site.name))
        above = self._values(site, probs) > 0.0
        return lexical(np.where(above, 0.5 + 0.5 * place, 0.5 * (1.0 - place)), probs)

    def of_links(self, links: LinkBatch, site: SiteModel) -> Features:
        """Return the features of links."""
        parents = site.memory.sources(links.keys)
        number = self._numbers.get(host_arm(site.name), len(self._numbers))
        return paper_features(links.urls, [number] * len(links), list(map(self._good_parent, parents)))

    def _values(self, site: SiteModel, probs: Floats) -> Floats:
        arm, function = self.arm(site), self.hosts.function
        if not arm.pulls and function not in USES_BEST:
            return np.zeros(len(probs))
        u = uniform(self.hosts.seed, self.seq, [host_arm(site.name)])
        values = HOST_VALUES[function](arm.good, arm.bad, probs - 0.5, u)
        return np.broadcast_to(values, probs.shape).astype(np.float64)

    def _number(self, site: SiteModel) -> int:
        """Return the number of the site, a new one if it has none and there is room."""
        host, known = host_arm(site.name), len(self._hosts)
        if host not in self._numbers and known < MAX_PAGES:
            self._numbers[host] = known
            self._hosts.append(host)
        return self._numbers.get(host, known)

    def _good_parent(self, parents: list[int]) -> bool:
        return bool(parents) and self.neighbours.label(parents[0]) is True

    def after_load(self) -> None:
        """Number the hosts in their order."""
        self._numbers = {host: number for number, host in enumerate(self._hosts)}


def scaled(margins: Floats) -> Floats:
    """Return margins, from -1 to 1 and mostly tiny, on a logarithmic scale in [0, 1]; 0 becomes 0.5."""
    size = np.maximum(np.abs(margins), 10.0**-_RANGE)
    share = np.where(margins == 0.0, 0.0, 1.0 + np.log10(size) / _RANGE)
    return np.asarray(0.5 + 0.5 * np.sign(margins) * np.clip(share, 0.0, 1.0), dtype=np.float64)


def paper_tokens(url: str) -> set[str]:
    """Return the tokens of path, query and fragment, percent-decoded, in one space.

    Lower-cased pieces of [a-z0-9] of three and more characters; all digits become one token, mixed pieces are
    dropped. A URL that cannot be split has none.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return set()
    pieces = [
        piece
        for text in (parts.path, parts.query, parts.fragment)
        for piece in _PIECES.findall(unquote(text).lower())
    ]
    return {
        NUMBER if piece.isdecimal() else piece for piece in pieces if piece.isdecimal() or piece.isalpha()
    }


def java_hash(text: str) -> int:
    """Return Java's `String.hashCode`: h = 31 h + UTF-16 unit, 32 bits, signed."""
    raw = text.encode("utf-16-be", "surrogatepass")
    h = 0
    for at in range(0, len(raw), 2):
        h = (31 * h + int.from_bytes(raw[at : at + 2], "big")) & 0xFFFFFFFF
    return h - (1 << 32) if h >= 1 << 31 else h


@lru_cache(maxsize=32_768)
def paper_slots(url: str) -> tuple[int, ...]:
    """Return the distinct slots of a URL's tokens, |hash| mod 10,000, in rising order."""
    return tuple(sorted({abs(java_hash(token)) % SLOTS for token in paper_tokens(url)}))


def paper_features(urls: Sequence[str], hosts: Sequence[int], good_parent: Sequence[bool]) -> Features:
    """Return rows of `SLOTS` 0/1 features and `NUMERIC` numbers.

    Parameters
    ----------
    hosts
        Number of each link's host in order of first appearance.
    good_parent
        Whether the first page that linked to it was relevant.
    """
    slots = [paper_slots(url) for url in urls]
    lengths = [len(found) for found in slots]
    n = np.arange(len(urls), dtype=np.int64)
    numbers: Floats = np.concatenate([np.array(hosts, dtype=float), np.array(good_parent, dtype=float)])
    return Features(
        len(urls),
        np.concatenate([np.repeat(n, lengths), n, n]),
        np.concatenate(
            [
                np.array([slot for found in slots for slot in found], dtype=np.int64),
                np.full(len(urls), SLOTS, dtype=np.int64),
                np.full(len(urls), SLOTS + 1, dtype=np.int64),
            ]
        ),
        np.concatenate([np.ones(sum(lengths)), numbers]),
    )
