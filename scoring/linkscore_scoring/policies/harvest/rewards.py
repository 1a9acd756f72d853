"""What fetched pages were worth, by the best source there is: feedback, likeness to examples, own text."""

from __future__ import annotations

from collections.abc import Iterable

from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.policies.harvest.arms import HierarchicalArms, Node
from linkscore_scoring.policies.harvest.examples import ExampleCandidate, ExampleCandidates, suggest_examples
from linkscore_scoring.policies.harvest.excerpts import ExcerptLedger, PageWorth, RewardSource
from linkscore_scoring.policies.harvest.likeness import Likeness
from linkscore_scoring.policies.harvest.tunables import Tunables
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.site.texts import text_reward
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import ExamplePage, ExampleWanted, PageObservation

# Tunables of the default policy.
_LABELS_TO_HALVE = 2.0  # labels after which text counts half, > 0; chosen, not measured
_ALIKE = 0.5  # label from which a page counts as like an example, in (0, 1]; chosen, not measured


class PageRewards(Stateful):
    """Rewards of pages, revised as more becomes known.

    A page counts by what feedback said of it; else, if there are examples, by whether it is like one
    (`likeness`); else by the text that belongs to it (`excerpts`). Text is what is looked at when nobody says
    what is wanted: a page whose reward is its text counts 2 / (2 + n) of a pull after n pages were labelled
    otherwise, and in full again when feedback comes for it.

    Parameters
    ----------
    arms
        What earns the rewards.
    """

    ledger: Stored[ExcerptLedger]
    likeness: Stored[Likeness]
    labels: Stored[int]
    candidates: Stored[ExampleCandidates]

    def __init__(self, arms: HierarchicalArms, tunables: Tunables = Tunables()) -> None:  # noqa: B008 - frozen
        self.arms = arms
        self.ledger = ExcerptLedger(tunables=tunables)
        self.likeness = Likeness()
        self.candidates = ExampleCandidates()
        self.labels = 0

    @property
    def labelled_share(self) -> float:
        """How far labels, not text, decide what is wanted: n / (n + 2), n = pages labelled and examples."""
        n = self.labels + len(self.likeness)
        return n / (n + _LABELS_TO_HALVE)

    def set_examples(self, examples: Iterable[ExamplePage], site: SiteModel) -> None:
        """Compare pages fetched from now on with these, and those that may be asked about right now."""
        if self.likeness.set_examples(examples):
            self._compare_candidates(site)
            self.candidates.relabelled()

    def suggest_examples(self, n: int, site: SiteModel) -> list[ExampleWanted]:
        """Return up to `n` pages a user should be asked about, best first; see `examples`."""
        return suggest_examples(self.candidates, self.likeness, self._text_reward_of, site.patterns, n)

    # A fetched page passes through the next four, in this order: its sources pay for it, it gets a worth, the
    # worth is set by its text once its links are known, and it is kept.

    def update_sources(self, page: PageObservation, site: SiteModel) -> None:
        """Tell the pages that linked to a page what it cost them, and revise their rewards."""
        sources: dict[int, int] = {}
        for source, apath in page.contexts:
            sources.setdefault(source, site.apaths.get(apath).folded)
        for source, apath in sources.items():
            self.ledger.followed(source, apath, page.lost.get(source, 0))
        for source, apath in page.displaced:
            self.ledger.forgotten(source, site.apaths.get(apath).folded)
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
        elif self.likeness:
            self._compare(page, worth, site)
        return worth

    def update_text_reward(self, worth: PageWorth) -> None:
        """Set the reward by text of a page whose links are known by now.

        What may be excerpts counts as little known, not as nothing: a page in doubt is a part of a pull.
        """
        if worth.source is RewardSource.TEXT:
            worth.reward, worth.doubt = self.ledger.reward(worth), self.ledger.doubt(worth)
            worth.weight *= 1.0 - worth.doubt

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
            self._label(candidate, worth.reward, page.paths)
        self.candidates.add(page.pattern, candidate, site.patterns)

    def label(self, key: int, reward: float) -> bool:
        """Let feedback replace the reward of a page; False if the page is not remembered."""
        page = self.ledger.page(key)
        self.candidates.forget(key)
        self.labels += page is None or page.source is RewardSource.TEXT
        if page is None:
            return False
        self.arms.revise(page.nodes, reward - page.weight * page.reward, 1.0 - page.weight)
        page.reward, page.weight, page.doubt, page.source = reward, 1.0, 0.0, RewardSource.FEEDBACK
        return True

    def revise(self, page: PageWorth) -> None:
        """Judge a page that was credited by its text anew, by what is known by now."""
        if page.source is RewardSource.TEXT:
            self._revise(page, self.ledger.reward(page))

    def _compare(self, page: PageObservation, worth: PageWorth, site: SiteModel) -> None:
        if self.likeness.see(page.url, page.paths):
            self._relabel(site)
        label = self.likeness.label(page.url, page.paths, site.patterns)
        self.likeness.count_label(alike=label >= _ALIKE)
        self.labels += 1
        worth.reward, worth.weight, worth.source = label, 1.0, RewardSource.LIKENESS

    def _relabel(self, site: SiteModel) -> None:
        """Learn layouts anew, and label the sampled pages again."""
        known = [(page, self.ledger.page(page.hash)) for page in site.sample]
        self.likeness.fit([page.paths for page, worth in known if worth is None or worth.reward < _ALIKE])
        for page, worth in known:
            if worth is not None and worth.source is RewardSource.LIKENESS:
                self._revise(worth, self.likeness.label(page.key, page.paths, site.patterns))
        self._compare_candidates(site)

    def _compare_candidates(self, site: SiteModel) -> None:
        """Label the pages anew that may be asked about, as far as they are in the sample."""
        sampled = {page.hash: page for page in site.sample}
        for candidate in self.candidates.members():
            if (page := sampled.get(candidate.key)) is not None:
                label = self.likeness.label(page.key, page.paths, site.patterns) if self.likeness else 0.0
                self._label(candidate, label, page.paths)

    def _label(self, candidate: ExampleCandidate, label: float, paths: PathTrie) -> None:
        """Set the label, and that by layout alone where it can differ."""
        candidate.label = label
        candidate.layout_label = self.likeness.layout_label(paths) if label < 1.0 else label

    def _text_reward_of(self, candidate: ExampleCandidate) -> float:
        known = self.ledger.page(candidate.key)
        return candidate.text_reward if known is None else self.ledger.reward(known)

    def _revise(self, page: PageWorth, reward: float) -> None:
        """Change the reward of a page, and its weight by what is in doubt by now."""
        doubt = self.ledger.doubt(page) if page.doubt else 0.0
        weight = page.weight * (1.0 - doubt) / (1.0 - page.doubt)
        self.arms.revise(page.nodes, weight * reward - page.weight * page.reward, weight - page.weight)
        page.reward, page.weight, page.doubt = reward, weight, doubt
