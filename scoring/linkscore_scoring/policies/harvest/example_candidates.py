"""Fetched pages a user may be asked about: a few of each URL pattern, with how like the examples they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from linkscore_scoring.urls.pattern_tree import UrlPatterns

_KEPT, _LATEST = 4, 32


@dataclass(slots=True)
class Candidate:
    """A fetched page that may be suggested as an example.

    Attributes
    ----------
    key, url
        Identity hash and URL.
    text
        Reward by text when it was fetched, in [0, 1].
    label
        How far it is like the examples, in [0, 1]; 0 without examples.
    look
        The same by layout alone, whatever its URL, in [0, 1]; not below `label`.
    """

    key: int
    url: str
    text: float
    label: float = 0.0
    look: float = 0.0

    @property
    def doubt(self) -> float:
        """How much an answer would teach, in [0, 1]: label near 1/2, or layout and URL at odds."""
        return max(1.0 - abs(2.0 * self.label - 1.0), self.look - self.label)


@dataclass(slots=True)
class Group:
    """Pages of one URL pattern: how many were fetched, doubt of the latest 32, and up to 4, oldest first."""

    pages: int = 0
    doubt: float = 0.0
    members: list[Candidate] = field(default_factory=list)

    def take(self, pages: int, doubt: float, members: list[Candidate]) -> None:
        """Take in pages; beyond 4 the least doubtful goes, of several the oldest."""
        self.pages += pages
        self.doubt += (doubt - self.doubt) * pages / min(self.pages, max(pages, _LATEST))
        self.members += members
        while len(self.members) > _KEPT:
            self.members.remove(min(self.members, key=lambda member: member.doubt))


class ExampleCandidates:
    """Keeps the most doubtful of the fetched pages of each URL pattern, among equals the latest.

    Groups follow their patterns: those whose patterns have merged are one from then on. When there are too
    many, the one with the fewest pages goes, among equals the oldest, and its count with it.

    Parameters
    ----------
    max_groups
        URL patterns kept, >= 2.

    Notes
    -----
    Not from a paper. Cost: O(groups) a page, 10 to 50 us; memory: 4 URLs a group, 512 in all.
    """

    def __init__(self, *, max_groups: int = 128) -> None:
        self.max_groups = max_groups
        self._groups: dict[int, Group] = {}

    def add(self, pattern: int, page: Candidate, patterns: UrlPatterns) -> None:
        """Take in a fetched page of a URL pattern."""
        self._groups = self.groups(patterns)
        own = patterns.resolve(pattern)
        self._groups.setdefault(own, Group()).take(1, page.doubt, [page])
        if len(self._groups) > self.max_groups:
            others = (each for each in self._groups if each != own)
            del self._groups[min(others, key=lambda each: self._groups[each].pages)]

    def forget(self, key: int) -> None:
        """Drop a page that somebody has judged."""
        for group in self._groups.values():
            group.members = [member for member in group.members if member.key != key]

    def labelled(self) -> None:
        """Let the doubt of each group be that of the pages kept, whose labels are new."""
        for group in self._groups.values():
            doubts = [member.doubt for member in group.members]
            group.doubt = sum(doubts) / len(doubts) if doubts else 0.0

    def members(self) -> list[Candidate]:
        """Return all pages kept."""
        return [member for group in self._groups.values() for member in group.members]

    def groups(self, patterns: UrlPatterns) -> dict[int, Group]:
        """Return the groups by the pattern that stands for them now; changes nothing."""
        if all(patterns.resolve(pattern) == pattern for pattern in self._groups):
            return self._groups
        merged: dict[int, Group] = {}
        for pattern, group in self._groups.items():
            merged.setdefault(patterns.resolve(pattern), Group()).take(
                group.pages, group.doubt, group.members
            )
        return merged

    def to_state(self) -> dict[str, Any]:
        """Return groups as plain values."""
        groups = [
            [
                pattern,
                group.pages,
                group.doubt,
                [[m.key, m.url, m.text, m.label, m.look] for m in group.members],
            ]
            for pattern, group in self._groups.items()
        ]
        return {"groups": groups}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the groups of `to_state`."""
        self._groups = {
            pattern: Group(pages, doubt, [Candidate(*columns) for columns in members])
            for pattern, pages, doubt, members in state["groups"]
        }
