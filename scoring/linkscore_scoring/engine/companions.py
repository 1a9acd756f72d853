"""What learns from the fetches of a site beside policies: settings of a crawl, each brought by an annex.

An annex registers a `Companion` by the entry points of the group ``linkscore.companions``, under the name of
the field of `Crawl` in the wire contract. A crawl that sets no such field has none, and pays nothing; see
ADR 32.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from linkscore_scoring.engine.limits import SentPage
from linkscore_scoring.errors import FieldProblem, InvalidInput
from linkscore_scoring.site.config import SiteBounds
from linkscore_scoring.site.fetch import Fetch
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stateful
from linkscore_scoring.types import FeedbackObservation, PageObservation, Revisit

GROUP = "linkscore.companions"


class Companion(Stateful):
    """What one setting learns of one site. Events change it, questions do not.

    Parameters
    ----------
    value
        The setting, as plain values.
    bounds
        Of the site.
    """

    @abstractmethod
    def __init__(self, value: Mapping[str, Any], bounds: SiteBounds) -> None: ...

    @staticmethod
    @abstractmethod
    def problems(name: str, value: Mapping[str, Any]) -> Iterator[FieldProblem]:
        """Yield what is wrong with the setting of a name."""

    @staticmethod
    def read(page: SentPage) -> dict[str, Any]:
        """Return the facts of a page that events keep for it, as plain values."""
        return {}

    @abstractmethod
    def configure(self, value: Mapping[str, Any]) -> None:
        """Take over another value of the setting."""

    @abstractmethod
    def observe(self, fetch: Fetch, page: PageObservation, site: SiteModel) -> None:
        """Take in a fetch, after the site and its policies did; may add to the observation."""

    @abstractmethod
    def unchanged(self, fetch: Fetch, page: int) -> Revisit | None:
        """Take in that a page, by identity hash, is as it was; nothing else does."""

    def feedback(self, event: FeedbackObservation) -> None:
        """Take in what extraction found."""

    def told(self, said: Mapping[str, Any], site: SiteModel) -> list[int]:
        """Take in what else is known of the site, as its annex puts it; returns what became of it."""
        return []

    def memory_bytes(self) -> int:
        """Estimate what it takes in memory."""
        return 0


@cache
def _kinds() -> Mapping[str, type[Companion]]:
    return {entry.name: entry.load() for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name)}


def companion_named(name: str) -> type[Companion]:
    """Return the kind of a setting.

    Raises
    ------
    InvalidInput
        If no annex that is installed brings it.
    """
    if name not in _kinds():
        raise InvalidInput("is not known to this server", field=name)
    return _kinds()[name]


def problems_of(config: Mapping[str, Any]) -> Iterator[FieldProblem]:
    """Yield what is wrong with the settings of a crawl."""
    for name, value in config.items():
        if name not in _kinds():
            yield FieldProblem(name, "is not known to this server")
            continue
        yield from _kinds()[name].problems(name, value)


def configured(
    before: Mapping[str, Companion], config: Mapping[str, Any], bounds: SiteBounds
) -> dict[str, Companion]:
    """Return the companions of a site by the settings of its crawl; one that was there goes on."""
    found = {}
    for name, value in config.items():
        kind, companion = companion_named(name), before.get(name)
        if companion is None:
            companion = kind(value, bounds)
        else:
            companion.configure(value)
        found[name] = companion
    return found
