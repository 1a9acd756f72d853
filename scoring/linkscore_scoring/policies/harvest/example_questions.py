"""Which fetched pages to ask a user about: those whose answer would teach most."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from linkscore_scoring.policies.harvest.example_candidates import Candidate, ExampleCandidates, Group
from linkscore_scoring.policies.harvest.likeness import Likeness
from linkscore_scoring.types import ExampleWanted
from linkscore_scoring.urls.pattern_tree import UrlPatterns

_HALF = 5.0
_DOUBTFUL = 0.25


class ExampleQuestions:
    """Orders groups of pages by what an answer about one page of each would teach.

    With examples, doubtful groups come first: doubt of the page x d / (d + 5), d = pages x mean doubt of its
    URL pattern.
    Then, and without examples only these, the groups whose URL pattern is that of no example, by the text
    they brought: t / (t + 5), t = n x mean reward by text of the pages kept; half as much if they are surely
    like an example of another pattern. Among equals the group with most pages comes first.

    Parameters
    ----------
    likeness
        The examples.
    text_of
        Reward by text of a page as it looks now, in [0, 1].

    Notes
    -----
    After uncertainty sampling, Lewis and Gale 1994; weighing by the pages an answer is about is ours.
    """

    def __init__(self, likeness: Likeness, text_of: Callable[[Candidate], float]) -> None:
        self._likeness = likeness
        self._text_of = text_of

    def best(self, pages: ExampleCandidates, patterns: UrlPatterns, n: int) -> list[ExampleWanted]:
        """Return one page of each of up to `n` groups, best first; cost O(pages x examples)."""
        named = self._likeness.named(patterns)
        found = [
            wanted
            for pattern, group in pages.groups(patterns).items()
            for wanted in self._of_group(group, patterns.text(pattern), is_named=pattern in named)
        ]
        return sorted(found, key=lambda wanted: (-wanted.value, -wanted.pages))[:n]

    def _of_group(self, group: Group, pattern: str, *, is_named: bool) -> Iterator[ExampleWanted]:
        """Yield the question a group is worth, if any."""
        members = [member for member in group.members if not self._likeness.shows(member.url)]
        if not members:
            return
        most = max(members, key=lambda member: member.doubt)
        if self._likeness and most.doubt >= _DOUBTFUL:
            in_doubt = group.pages * group.doubt
            value = 1.0 + most.doubt * in_doubt / (in_doubt + _HALF)
            yield ExampleWanted(most.url, _why_doubtful(most), value, group.pages, most.label)
        elif not is_named:
            yield self._unnamed(members, group.pages, pattern)

    def _unnamed(self, members: list[Candidate], pages: int, pattern: str) -> ExampleWanted:
        """Return the question about a group no example names: its page nearest to the group's mean."""
        texts = [self._text_of(member) for member in members]
        mean = sum(texts) / len(texts)
        typical, _ = min(zip(members, texts, strict=True), key=lambda pair: abs(pair[1] - mean))
        total = pages * mean
        value = total / (total + _HALF) * (1.0 - typical.label / 2.0)
        reason = (
            f"no example is one of the {pages} pages of {pattern or 'any URL'}; mean worth by text {mean:.2f}"
        )
        label = typical.label if self._likeness else None
        return ExampleWanted(typical.url, reason, value, pages, label)


def _why_doubtful(page: Candidate) -> str:
    """Return what is doubtful about a page, in words."""
    if page.look - page.label > 1.0 - abs(2.0 * page.label - 1.0):
        return f"its layout is like an example ({page.look:.2f}), its URL has another shape"
    return f"half like an example ({page.label:.2f}): neither clearly wanted nor clearly not"
