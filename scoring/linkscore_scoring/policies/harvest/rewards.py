"""What fetched pages were worth, by the best source there is, and which of them to ask a user about.

`PageRewards` goes by feedback, likeness to examples or own text; `ExampleCandidates` keeps a few pages of
each URL pattern, and `suggest_examples` orders them by what an answer would teach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice

from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.policies.harvest.arms import HierarchicalArms, Node
from linkscore_scoring.policies.harvest.likeness import Likeness
from linkscore_scoring.policies.harvest.own_text import ExcerptLedger, PageWorth, RewardSource
from linkscore_scoring.policies.harvest.tunables import DEFAULTS, Tunables
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.site.texts import text_reward
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.sums import left_sum
from linkscore_scoring.types import ExamplePage, ExampleWanted, PageObservation
from linkscore_scoring.urls.pattern_tree import UrlPatterns


class PageRewards(Stateful):
    """Rewards of pages, revised as more becomes known.

    A page counts by what feedback said of it; else, if there are examples, by whether it is like one
    (`likeness`); else by the text that belongs to it (`own_text`). Text is what is looked at when nobody says
    what is wanted: a page whose reward is its text counts 2 / (2 + n) of a pull when n pages are known to be
    wanted, and in full again when feedback comes for it.

    Few labels say much of the pages they are about and little of the others. A page like an example is worth
    1, a page like one that is not wanted 0; one like neither is worth its text times 2 / (2 + n), n examples:
    who named one page has not said that all else is not wanted, who named ten of three types nearly has.
    Pages that are not wanted never make text count less. If its URL has the shape of no example's, pages
    found that are wanted count in n too, down to a tenth: with plenty of them known, lists that lead to more
    come before other kinds.

    Parameters
    ----------
    arms
        What earns the rewards.
    tunables
        Of the policy.
    """

    ledger: Stored[ExcerptLedger]
    likeness: Stored[Likeness]
    labels: Stored[int]
    reported: Stored[int]
    candidates: Stored[ExampleCandidates]

    def __init__(self, arms: HierarchicalArms, tunables: Tunables = DEFAULTS) -> None:
        self.arms = arms
        self.tunables = tunables
        self.ledger = ExcerptLedger(tunables)
        self.likeness = Likeness(tunables)
        self.candidates = ExampleCandidates(tunables)
        self.labels = self.reported = 0

    @property
    def labelled_share(self) -> float:
        """How far labels, not text, decide: 1 less the smaller of 2 / (2 + n) and 1 - m / (m' + 2).

        n pages and examples are known to be wanted, and feedback came for m of m' pages. Who says of a dozen
        pages in two hundred that they are not wanted has not said what is; who says so of every page has.
        """
        n, of_text = self.labels + len(self.likeness), self.tunables.prior_weight
        silent = 1.0 - self.reported / (self.arms.pulls_total + of_text)
        return 1.0 - min(silent, of_text / (of_text + n))

    def set_examples(self, examples: Iterable[ExamplePage], site: SiteModel) -> None:
        """Compare pages fetched from now on with these, and those of the sample right now."""
        if self.likeness.set_examples(examples):
            for page in site.sample:
                self.likeness.find(page.key, page.paths)
            # Which pages are unlike the examples must be known before layouts can be learned from them.
            self.likeness.fit(())
            self._label_sample(site)
            self._relabel(site)
            self.candidates.relabelled()

    def suggest_examples(self, n: int, site: SiteModel) -> list[ExampleWanted]:
        """Return up to `n` pages a user should be asked about, best first; see the function."""
        return suggest_examples(self.candidates, self.likeness, self._text_reward_of, site.patterns, n)

    # A fetched page passes through the next four, in this order: its sources pay for it, it gets a worth, the
    # worth is set by its text once its links are known, and it is kept.

    def update_sources(self, page: PageObservation, site: SiteModel) -> None:
        """Tell the pages that linked to a page what it cost them, and revise their rewards."""
        sources: dict[int, int] = {}
        for source, link_path in page.contexts:
            sources.setdefault(source, site.link_paths.get(link_path).folded)
        for source, link_path in sources.items():
            self.ledger.followed(source, link_path, page.lost.get(source, 0))
        for source, link_path in page.displaced:
            self.ledger.forgotten(source, site.link_paths.get(link_path).folded)
        for key in dict.fromkeys([*sources, *page.lost]):
            known = self.ledger.page(key)
            if known is not None:
                self.ledger.lost(known, page.lost.get(key, 0))
                self.revise(known)

    def worth_of(self, page: PageObservation, nodes: list[Node], site: SiteModel) -> PageWorth:
        """Return the worth of a page just fetched, compared with the examples; it is not credited yet."""
        worth = PageWorth(page.own_chars, nodes, weight=1.0 - self.labelled_share)
        if page.failed:
            worth.weight = 1.0
        elif self.likeness.is_given or self.likeness:
            self._compare(page, worth, site)
        return worth

    def update_text_reward(self, worth: PageWorth) -> None:
        """Set the reward of a page whose links are known by now.

        What may be excerpts counts as little known, not as nothing: a page in doubt is a part of a pull.
        """
        if worth.source is RewardSource.TEXT:
            worth.doubt = self.ledger.doubt(worth)
            worth.weight *= 1.0 - worth.doubt
        worth.reward = self._reward(worth)

    def record(self, page: PageObservation, worth: PageWorth, site: SiteModel) -> None:
        """Keep the worth of a page, and the page itself as one a user may be asked about."""
        self.ledger.add(page.key, worth)
        if self.ledger.scale.look():
            for known in self.ledger.pages():
                self.revise(known)
        if page.failed or page.is_copy:
            return
        candidate = ExampleCandidate(page.key, page.url, text_reward(page.own_chars))
        if worth.source is RewardSource.LIKENESS:
            self._label(candidate, worth.label, page.paths)
        self.candidates.add(page.pattern, candidate, site.patterns)

    def label(self, key: int, reward: float, site: SiteModel) -> bool:
        """Let feedback replace the reward of a page; False if the page is not remembered."""
        page = self.ledger.page(key)
        self.candidates.forget(key)
        self.reported += page is None or page.source is not RewardSource.FEEDBACK
        if page is None:
            self.labels += reward >= self.tunables.wanted
            return False
        with self._counted(page):
            self._judge(page, RewardSource.FEEDBACK, reward)
        if not self._is_wanted(page) and self.likeness.may_refuse:
            self._refuse(key, site)
        return True

    def revise(self, page: PageWorth) -> None:
        """Judge a page anew that was not by feedback, by what is known by now."""
        if page.source is not RewardSource.FEEDBACK:
            self._revise(page)

    def _reward(self, page: PageWorth) -> float:
        """Return what a page is worth by its text and its label."""
        text = self.ledger.reward(page)
        if page.source is RewardSource.TEXT:
            return text
        n, t = len(self.likeness), self.tunables
        share = t.prior_weight / (t.prior_weight + n)
        if not page.label:  # its URL has the shape of no example's
            share = max(t.least_left, 1.0 - self.labelled_share)
        text *= (1.0 - self.ledger.doubt(page)) * share
        return max(0.0, page.label) + (1.0 - abs(page.label)) * text

    def _judge(self, page: PageWorth, source: RewardSource, reward: float) -> None:
        """Let a page count as a whole pull, by feedback or its label."""
        self.arms.revise(page.nodes, reward - page.weight * page.reward, 1.0 - page.weight)
        page.reward, page.weight, page.doubt, page.source = reward, 1.0, 0.0, source

    @contextmanager
    def _counted(self, page: PageWorth) -> Iterator[None]:
        """Keep `labels` the number of pages that are known to be wanted while one is judged anew."""
        before = self._is_wanted(page)
        yield
        self.labels += self._is_wanted(page) - before

    def _is_wanted(self, page: PageWorth) -> bool:
        """Say whether feedback or examples say that a page is wanted."""
        return page.named >= self.tunables.wanted

    def _refuse(self, key: int, site: SiteModel) -> None:
        """Let pages like a fetched one count as not wanted, if its layout is known."""
        page = next((page for page in reversed(site.sample) if page.hash == key), None)
        if page is not None:
            self.likeness.refuse(page.key, page.paths)
            self._relabel(site)
            self.candidates.relabelled()

    def _compare(self, page: PageObservation, worth: PageWorth, site: SiteModel) -> None:
        if self.likeness.see(page.url, page.paths):
            self._relabel(site)
        if not self.likeness:
            return
        worth.label = self.likeness.label(page.url, page.paths, site.patterns)
        worth.weight, worth.source = 1.0, RewardSource.LIKENESS
        is_wanted = self._is_wanted(worth)
        self.likeness.count_label(alike=is_wanted)
        self.labels += is_wanted

    def _relabel(self, site: SiteModel) -> None:
        """Learn layouts anew, and label the sampled pages again.

        Pages of the shape of an example that seem unlike are no background while they are more than those
        that are wanted.
        """
        known = [(page, self.ledger.page(page.hash)) for page in site.sample]
        unlike = [page for page, worth in known if worth is None or not self._is_wanted(worth)]
        others = [page for page in unlike if not self.likeness.has_shape(page.key, site.patterns)]
        wanted = len(known) - len(unlike) + len(self.likeness)
        background = unlike if len(unlike) - len(others) <= wanted else others
        self.likeness.fit([page.paths for page in background])
        self._label_sample(site)

    def _label_sample(self, site: SiteModel) -> None:
        """Label the latest of the sampled pages again, and among them those that may be asked about."""
        askable = {candidate.key: candidate for candidate in self.candidates.members()}
        for page in islice(reversed(site.sample), self.tunables.at_once):
            label = self.likeness.label(page.key, page.paths, site.patterns) if self.likeness else 0.0
            worth = self.ledger.page(page.hash)
            if self.likeness and worth is not None and worth.source is not RewardSource.FEEDBACK:
                with self._counted(worth):
                    worth.label, worth.source = label, RewardSource.LIKENESS
                    self._judge(worth, worth.source, self._reward(worth))
            if (candidate := askable.get(page.hash)) is not None:
                self._label(candidate, label, page.paths)

    def _label(self, candidate: ExampleCandidate, label: float, paths: PathTrie) -> None:
        """Set the label, and that by layout alone where it can differ."""
        candidate.label = label
        candidate.layout_label = self.likeness.layout_label(paths) if label < 1.0 else label

    def _text_reward_of(self, candidate: ExampleCandidate) -> float:
        known = self.ledger.page(candidate.key)
        return candidate.text_reward if known is None else self.ledger.reward(known)

    def _revise(self, page: PageWorth) -> None:
        """Change the reward of a page, and its weight by what is in doubt by now."""
        reward = self._reward(page)
        doubt = self.ledger.doubt(page) if page.doubt else 0.0
        weight = page.weight * (1.0 - doubt) / (1.0 - page.doubt)
        self.arms.revise(page.nodes, weight * reward - page.weight * page.reward, weight - page.weight)
        page.reward, page.weight, page.doubt = reward, weight, doubt


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
    """Pages of one URL pattern: how many were fetched, mean uncertainty of the latest 16, up to 3 of them."""

    pages: int = 0
    uncertainty: float = 0.0
    members: list[ExampleCandidate] = field(default_factory=list)

    def take(self, pages: int, uncertainty: float, members: list[ExampleCandidate], t: Tunables) -> None:
        """Take in pages; beyond 3 the least uncertain goes, of several the oldest."""
        self.pages += pages
        self.uncertainty += (uncertainty - self.uncertainty) * pages / min(self.pages, max(pages, t.latest))
        self.members += members
        while len(self.members) > t.few:
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
    Not from a paper. Cost: O(groups) a page, 10 to 50 us; memory: 3 URLs a group, 768 in all.

    Examples
    --------
    >>> candidates, patterns = ExampleCandidates(), UrlPatterns()
    >>> for n in range(6):
    ...     page = ExampleCandidate(n, f"http://h.example/post/{n}", text_reward=0.5)
    ...     candidates.add(patterns.insert(page.url), page, patterns)
    >>> wanted = suggest_examples(candidates, Likeness(), lambda page: page.text_reward, patterns, n=1)
    >>> [(page.url, page.pages, page.value) for page in wanted]  # 6 pages x .5 = 3, 3 / (3 + 5)
    [('http://h.example/post/3', 6, 0.375)]
    """

    _groups: Stored[dict[int, CandidateGroup]]

    def __init__(self, tunables: Tunables = DEFAULTS) -> None:
        self.tunables = tunables
        self._groups = {}

    def add(self, pattern: int, page: ExampleCandidate, patterns: UrlPatterns) -> None:
        """Take in a fetched page of a URL pattern."""
        self._groups = self.groups(patterns)
        own = patterns.resolve(pattern)
        self._groups.setdefault(own, CandidateGroup()).take(1, page.uncertainty, [page], self.tunables)
        if len(self._groups) > self.tunables.at_once:
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
    t: Tunables,
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
        value = total / (total + t.half_saturation) * (1.0 - (1.0 - t.least_left) * abs(typical.label))
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
