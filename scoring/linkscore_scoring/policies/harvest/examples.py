"""Which fetched pages to ask a user about: those whose answer would teach most.

`ExampleCandidates` keeps a few fetched pages of each URL pattern; `suggest_examples` orders them when
somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from linkscore_scoring.policies.harvest.likeness import Likeness
from linkscore_scoring.policies.harvest.tunables import DEFAULTS, QuestionTunables
from linkscore_scoring.state import Flat, Stateful, Stored
from linkscore_scoring.sums import left_sum
from linkscore_scoring.types import ExampleWanted
from linkscore_scoring.urls.pattern_tree import UrlPatterns


@dataclass(slots=True)
class ExampleCandidate:
    """A fetched page that may be suggested as an example.

    Attributes
    ----------
    key, url
        Identity hash and URL.
    text_reward
        Reward by text when it was fetched, in [0, 1].
    label
        How far it is like a page that was named, in [-1, 1], below 0 if that is not wanted; 0 if none was.
    layout_label
        How far it is like an example by layout alone, whatever its URL, in [0, 1]; not below `label`.
    """

    key: int
    url: str
    text_reward: float
    label: float = 0.0
    layout_label: float = 0.0

    @property
    def uncertainty(self) -> float:
        """How much an answer would teach, in [0, 1]: label near 1/2, or layout and URL at odds."""
        sure = abs(self.label)
        return max(1.0 - abs(2.0 * sure - 1.0), self.layout_label - sure)


@dataclass(slots=True)
class CandidateGroup:
    """Pages of one URL pattern: how many were fetched, mean uncertainty of the latest 32, up to 4 of them."""

    pages: int = 0
    uncertainty: float = 0.0
    members: list[Flat[ExampleCandidate]] = field(default_factory=list)

    def take(
        self, pages: int, uncertainty: float, members: list[ExampleCandidate], t: QuestionTunables
    ) -> None:
        """Take in pages; beyond 4 the least uncertain goes, of several the oldest."""
        self.pages += pages
        self.uncertainty += (uncertainty - self.uncertainty) * pages / min(self.pages, max(pages, t.latest))
        self.members += members
        while len(self.members) > t.kept:
            self.members.remove(min(self.members, key=lambda member: member.uncertainty))


class ExampleCandidates(Stateful):
    """Keeps the most uncertain of the fetched pages of each URL pattern, among equals the latest.

    Groups follow their patterns: those whose patterns have merged are one from then on. When there are too
    many, the one with the fewest pages goes, among equals the oldest, and its count with it.

    Parameters
    ----------
    tunables
        How much is kept; at least 2 URL patterns.

    Notes
    -----
    Not from a paper. Cost: O(groups) a page, 10 to 50 us; memory: 4 URLs a group, 512 in all.

    Examples
    --------
    >>> candidates, patterns = ExampleCandidates(), UrlPatterns()
    >>> for n in range(6):
    ...     page = ExampleCandidate(n, f"http://h.example/post/{n}", text_reward=0.5)
    ...     candidates.add(patterns.insert(page.url), page, patterns)
    >>> wanted = suggest_examples(candidates, Likeness(), lambda page: page.text_reward, patterns, n=1)
    >>> [(page.url, page.pages, page.value) for page in wanted]  # 6 pages x .5 = 3, 3 / (3 + 5)
    [('http://h.example/post/2', 6, 0.375)]
    """

    _groups: Stored[Flat[dict[int, CandidateGroup]]]

    def __init__(self, tunables: QuestionTunables = DEFAULTS.questions) -> None:
        self.tunables = tunables
        self._groups = {}

    def add(self, pattern: int, page: ExampleCandidate, patterns: UrlPatterns) -> None:
        """Take in a fetched page of a URL pattern."""
        self._groups = self.groups(patterns)
        own = patterns.resolve(pattern)
        self._groups.setdefault(own, CandidateGroup()).take(1, page.uncertainty, [page], self.tunables)
        if len(self._groups) > self.tunables.max_groups:
            others = (each for each in self._groups if each != own)
            del self._groups[min(others, key=lambda each: self._groups[each].pages)]

    def forget(self, key: int) -> None:
        """Drop a page that somebody has judged."""
        for group in self._groups.values():
            group.members = [member for member in group.members if member.key != key]

    def relabelled(self) -> None:
        """Let the uncertainty of each group be that of the pages kept, whose labels are new."""
        for group in self._groups.values():
            found = [member.uncertainty for member in group.members]
            group.uncertainty = left_sum(found) / len(found) if found else 0.0

    def members(self) -> list[ExampleCandidate]:
        """Return all pages kept."""
        return [member for group in self._groups.values() for member in group.members]

    def groups(self, patterns: UrlPatterns) -> dict[int, CandidateGroup]:
        """Return the groups by the pattern that stands for them now; changes nothing."""
        if all(patterns.resolve(pattern) == pattern for pattern in self._groups):
            return self._groups
        merged: dict[int, CandidateGroup] = {}
        for pattern, group in self._groups.items():
            merged.setdefault(patterns.resolve(pattern), CandidateGroup()).take(
                group.pages, group.uncertainty, group.members, self.tunables
            )
        return merged


def suggest_examples(
    candidates: ExampleCandidates,
    likeness: Likeness,
    text_reward_of: Callable[[ExampleCandidate], float],
    patterns: UrlPatterns,
    n: int,
) -> list[ExampleWanted]:
    """Return one page of each of up to `n` groups, best first: what an answer about it would teach.

    With examples, uncertain groups come first: uncertainty of the page x u / (u + 5), u = pages x mean
    uncertainty of its URL pattern. Then, and without examples only these, the groups whose URL pattern is
    that of no example, by the text they brought: t / (t + 5), t = n x mean reward by text of the pages kept;
    a tenth of it if they are surely like a page of another pattern that somebody named, wanted or not: the
    answer is known but for the URL. Among equals the group with most pages comes first.

    Parameters
    ----------
    likeness
        The examples.
    text_reward_of
        Reward by text of a page as it looks now, in [0, 1].

    Notes
    -----
    After uncertainty sampling, Lewis and Gale 1994; weighing by the pages an answer is about is ours. Cost:
    O(pages x examples).
    """
    named = likeness.example_patterns(patterns)
    found: list[ExampleWanted] = []
    for pattern, group in candidates.groups(patterns).items():
        members = [member for member in group.members if not likeness.is_example(member.url)]
        if members:
            text = patterns.text(pattern)
            found += _suggested(
                group,
                members,
                text,
                likeness,
                text_reward_of,
                candidates.tunables,
                is_named=pattern in named,
            )
    return sorted(found, key=lambda wanted: (-wanted.value, -wanted.pages))[:n]


def _suggested(
    group: CandidateGroup,
    members: list[ExampleCandidate],
    pattern: str,
    likeness: Likeness,
    text_reward_of: Callable[[ExampleCandidate], float],
    t: QuestionTunables,
    *,
    is_named: bool,
) -> Iterator[ExampleWanted]:
    """Yield the page of a group to ask about, if any."""
    most = max(members, key=lambda member: member.uncertainty)
    if likeness and most.uncertainty >= t.uncertain:
        uncertain = group.pages * group.uncertainty
        value = 1.0 + most.uncertainty * uncertain / (uncertain + t.half_saturation)
        yield ExampleWanted(most.url, _why_uncertain(most), value, group.pages, most.label)
    elif not is_named:
        rewards = [text_reward_of(member) for member in members]
        mean = left_sum(rewards) / len(rewards)
        typical, _ = min(zip(members, rewards, strict=True), key=lambda pair: abs(pair[1] - mean))
        total = group.pages * mean
        value = total / (total + t.half_saturation) * (1.0 - (1.0 - t.sure_left) * abs(typical.label))
        reason = (
            f"no example is one of the {group.pages} pages of {pattern or 'any URL'}; "
            f"mean worth by text {mean:.2f}"
        )
        label = max(0.0, typical.label) if likeness else None
        yield ExampleWanted(typical.url, reason, value, group.pages, label)


def _why_uncertain(page: ExampleCandidate) -> str:
    """Return what is uncertain about a page, in words."""
    if page.layout_label - page.label > 1.0 - abs(2.0 * page.label - 1.0):
        return f"its layout is like an example ({page.layout_label:.2f}), its URL has another shape"
    return f"half like an example ({page.label:.2f}): neither clearly wanted nor clearly not"
