"""What a browse log tells about the news of a site: prefixes, hubs, and how sure that is."""

from __future__ import annotations

from dataclasses import astuple, dataclass, field

from linkscore_scoring.browse_logs.news.calibration import NewsEvidence, NewsThreshold
from linkscore_scoring.browse_logs.news.hubs import Hub
from linkscore_scoring.browse_logs.news.prefixes import NewsPrefix, PrefixTrie
from linkscore_scoring.errors import reading_state
from linkscore_scoring.state import State


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
    pages: int = 0
    news: int = 0
    undecided: int = 0
    prefixes: list[NewsPrefix] = field(default_factory=list)
    covered: float = 0.0
    hubs: list[Hub] = field(default_factory=list)
    reason: str = ""

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

    def to_state(self) -> State:
        """Return the model as plain values."""
        return {
            "signal": self.signal,
            "threshold": list(astuple(self.threshold)),
            "evidence": list(astuple(self.evidence)),
            "counts": [self.pages, self.news, self.undecided, self.covered],
            "prefixes": [list(astuple(prefix)) for prefix in self.prefixes],
            "hubs": [list(astuple(hub)) for hub in self.hubs],
            "reason": self.reason,
        }

    @classmethod
    def from_state(cls, state: State) -> NewsModel:
        """Rebuild a model.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        with reading_state("news model"):
            pages, news, undecided, covered = state["counts"]
            return cls(
                signal=str(state["signal"]),
                threshold=_threshold(*state["threshold"]),
                evidence=_evidence(*state["evidence"]),
                pages=int(pages),
                news=int(news),
                undecided=int(undecided),
                prefixes=[_prefix(*row) for row in state["prefixes"]],
                covered=float(covered),
                hubs=[_hub(*row) for row in state["hubs"]],
                reason=str(state["reason"]),
            )


def _threshold(value: float, hits: int, misses: int, false_alarms: int, n: int, given: bool) -> NewsThreshold:
    return NewsThreshold(float(value), int(hits), int(misses), int(false_alarms), int(n), bool(given))


def _evidence(slope: float, offset: float) -> NewsEvidence:
    return NewsEvidence(float(slope), float(offset))


def _prefix(text: str, share: float, at_least: float, pages: int, example: str) -> NewsPrefix:
    return NewsPrefix(str(text), float(share), float(at_least), int(pages), str(example))


def _hub(url: str, news: int, links: int, gain: int) -> Hub:
    return Hub(str(url), int(news), int(links), int(gain))
