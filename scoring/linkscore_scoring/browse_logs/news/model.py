"""What a browse log tells about the news of a site: prefixes, hubs, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

from linkscore_scoring.browse_logs.news.calibration import NewsEvidence, NewsThreshold
from linkscore_scoring.browse_logs.news.hubs import Hub
from linkscore_scoring.browse_logs.news.prefixes import NewsPrefix, PrefixTrie


@dataclass(slots=True)
class NewsModel:
    """News of one site, mined from one window of its browse log.

    Attributes
    ----------
    signal, threshold, evidence
        What tells news, above which value, and how sure a value is; see `NewsSettings`.
    pages, news, undecided
        Pages with enough clicks that could be judged, of them news, and others too young to judge.
    prefixes
        News prefixes, by text; none lies below another.
    covered
        Share of the news that lies below prefixes learned from other pages; see `held_out_coverage`.
    hubs
        Pages that link to news, best first.
    reason
        Why the model abstains; empty if it does not.
    """

    signal: str
    threshold: NewsThreshold
    evidence: NewsEvidence
    pages: int
    news: int
    undecided: int
    prefixes: list[NewsPrefix]
    covered: float
    hubs: list[Hub]
    reason: str

    @property
    def abstains(self) -> bool:
        """Whether prefixes tell too little to go by them."""
        return bool(self.reason)

    def trie(self) -> PrefixTrie:
        """Return a finder of prefixes by URL."""
        return PrefixTrie([prefix.text for prefix in self.prefixes])

    def summary(self) -> str:
        """Say in one sentence what was learned, or why nothing was."""
        rule = f"{self.signal} > {self.threshold.value:.3g}, {self.threshold.origin()}"
        seen = f"{self.news} of {self.pages} pages are news ({rule})"
        if self.reason:
            return f"abstains: {self.reason}; {seen}"
        return f"{len(self.prefixes)} news prefixes hold {self.covered:.0%} of the news; {seen}"
