"""What the sites of a crawl say of policies together: the expectation a new site starts with."""

from __future__ import annotations

from typing import Any

from linkscore_scoring.errors import reading_state
from linkscore_scoring.learners.pairwise_auc import Floats

_MAX_SITES = 1_000
_SITE_WEIGHT = 32.0
_SHRINK = 64.0


class CrawlTrust:
    """Advantage of each policy over the first one, as the sites of a crawl last reported it.

    A site counts by the links it judged, at most 32, so that one large site does not decide for all; the mean
    is shrunk to 0 by 64 links: two sites that agree count for half of what they say.

    Parameters
    ----------
    policies
        Number of policies.
    max_sites
        Sites remembered, the latest to report.
    """

    def __init__(self, policies: int, *, max_sites: int = _MAX_SITES) -> None:
        self.policies = policies
        self.max_sites = max_sites
        self._reports: dict[int, list[float]] = {}
        self._sums = [0.0] * (policies + 1)

    def report(self, site: int, advantages: Floats, weight: float) -> None:
        """Note the advantages on a site, by hash of its name, in place of what it said before."""
        weight = min(_SITE_WEIGHT, weight)
        self._forget(site)
        report = self._reports[site] = [weight, *(weight * float(gained) for gained in advantages)]
        self._sums = [total + part for total, part in zip(self._sums, report, strict=True)]
        if len(self._reports) > self.max_sites:
            self._forget(next(iter(self._reports)))

    def prior(self, site: int) -> list[float]:
        """Return the advantage to expect on a site from what the others said, one a policy."""
        own = self._reports.get(site, [0.0] * (self.policies + 1))
        weight, *sums = (total - part for total, part in zip(self._sums, own, strict=True))
        return [total / (weight + _SHRINK) for total in sums]

    def _forget(self, site: int) -> None:
        report = self._reports.pop(site, None)
        if report is not None:
            self._sums = [total - part for total, part in zip(self._sums, report, strict=True)]

    def to_state(self) -> dict[str, Any]:
        """Return the reports as plain values."""
        return {"reports": [[site, *report] for site, report in self._reports.items()], "sums": self._sums}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the reports of `to_state`.

        Raises
        ------
        CorruptState
            If a field is missing or malformed, or of another number of policies.
        """
        with reading_state("crawl-wide trust"):
            self._reports = {int(site): [float(x) for x in report] for site, *report in state["reports"]}
            self._sums = [float(x) for x in state["sums"]]
            if any(len(part) != self.policies + 1 for part in (self._sums, *self._reports.values())):
                raise ValueError(f"figures of {self.policies} policies expected")
