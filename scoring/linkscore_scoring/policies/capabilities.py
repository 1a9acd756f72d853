"""What a policy may be able to do besides scoring, and the one place where it is asked for.

A policy scores, explains and learns (`policies.base.Policy`); whatever else it can do is a protocol here,
which it has by defining the methods, without inheriting anything. The functions below ask a policy for one
thing each and return the neutral answer if it has no such capability: the engine, the server and composite
policies call these and look for no capability themselves.
"""

from __future__ import annotations

# Protocols are handed to `_find` as types, which mypy allows for concrete classes only.
# mypy: disable-error-code="type-abstract"
from collections.abc import Sequence
from enum import IntEnum
from functools import cache
from typing import Any, Protocol, TypeVar, runtime_checkable

from linkscore_scoring.policies.answers import MAX_RESCORED, KnownUrl, SitesRanked
from linkscore_scoring.policies.base import Params, Policy, Scores
from linkscore_scoring.policies.experience import Experience
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import (
    ExamplePage,
    ExampleWanted,
    LinkBatch,
    PageObservation,
    SeedWanted,
    Suggestion,
    UrlRule,
)
from linkscore_scoring.wanted import PageRelevance, Wanted

Part = tuple[type[Policy], Params]
"""A policy that another one is made of: its class and parameters."""


class Sharing(IntEnum):
    """What a policy shares over the sites of a crawl: what it loses when groups of sites learn apart."""

    NOTHING = 0
    SUMS = 1
    MODEL = 2


class CrawlKnowledge(Protocol):
    """What the policies of all sites of a crawl know together; made of plain values like a policy's own.

    Attributes
    ----------
    sharing
        `SUMS` if each group of sites may as well start from its own; `MODEL` if what one site teaches
        decides on the others, so that all sites must be of one group.
    """

    @property
    def sharing(self) -> Sharing: ...

    def to_state(self) -> dict[str, Any]:
        """Return the knowledge as plain values."""

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the knowledge of `to_state`, or raise CorruptState."""


@runtime_checkable
class UsesCrawlWideState(Protocol):
    """Knows something of all sites of a crawl together.

    The policy makes the knowledge in its constructor; the engine puts the crawl's in its place before the
    first event, keeps it, and saves it once.
    """

    crawl_wide: CrawlKnowledge | None


@runtime_checkable
class LoadsLibraries(Protocol):
    """Imports libraries while it learns, which takes seconds."""

    @classmethod
    def load_libraries(cls, params: Any) -> None:
        """Import what a policy with these parameters would import while it learns."""


@runtime_checkable
class FollowsSiteModel(Protocol):
    """Prepares itself when the model of the site changes."""

    def model_activated(self, site: SiteModel) -> None:
        """Note that a new site model became active, or that the policy was just made for a learned site."""


@runtime_checkable
class ReadsBrowseLogs(Protocol):
    """Reads `site.browse`; the class says so by `reads_logs`."""

    def mining_settings(self) -> dict[str, Any]:
        """Return fields of `browse_logs.mining.MiningSettings` as the parameters say."""

    def logs_mined(self, site: SiteModel) -> None:
        """Note that `site.browse` is new, or that the policy was just made for a site that has it."""


@runtime_checkable
class ExpectsOutcomes(Protocol):
    """Wants to say what it expects of a link before the page is known."""

    def expect(self, link: LinkBatch, site: SiteModel) -> None:
        """Note what is expected of the link, one row, that the next `observe` will tell about.

        Called before the site takes the page in, so that expectations know nothing of the outcome. Not called
        for seeds and repeated fetches.
        """


@runtime_checkable
class Abstains(Protocol):
    """Says itself when its scores are those of a fallback."""

    def is_able(self, site: SiteModel, *, has_feedback: bool) -> bool:
        """Say whether scores are more than a fallback; `has_feedback`: a page of the site was reported on."""


@runtime_checkable
class EstimatesRewards(Protocol):
    """Estimates what fetches will bring."""

    def expected_rewards(self, groups: Sequence[tuple[int, int]], site: SiteModel) -> Scores | None:
        """Return the reward expected of fetching one more link of each group, (n_groups,) float64 in [0, 1].

        A group is a URL pattern, as links had it when they were first seen, and a folded link path. None:
        nothing is known yet.
        """


class FetchesInFlight(Protocol):
    """What a policy makes of fetches that were begun and not answered yet; made for one question.

    Attributes
    ----------
    places
        Fetches of the site that may be under way together, by how much is known of it: >= 1.
    floor
        Value in [0, 1] below which a link should rather wait for the answers that are out; 0 if none is.
    """

    @property
    def places(self) -> int: ...

    @property
    def floor(self) -> float: ...

    def begin(self, bucket: str, n: int = 1) -> None:
        """Count fetches of links of a bucket as begun."""

    def value(self, bucket: str) -> float:
        """Return the value of a bucket, in [0, 1], which falls or stays as fetches begin.

        With nothing under way it is that of `Policy.value`, to the last bit.
        """


@runtime_checkable
class CountsInFlight(Protocol):
    """Chooses otherwise while the answers of other fetches are out."""

    def in_flight(self, site: SiteModel) -> FetchesInFlight | None:
        """Return what fetches under way will be counted in; None: they make no difference now."""


@runtime_checkable
class MovesUrls(Protocol):
    """Changes the scores of single URLs as links arrive; the class says so by `per_url`."""

    def rescored(self, site: SiteModel) -> list[KnownUrl]:
        """Return the unfetched URLs, links of the page itself aside, whose score the last `observe` changed.

        At most `MAX_RESCORED`, best first; empty before the first page and after `load_state`.
        """


class SiteBandit(Protocol):
    """Decides between the sites of a crawl."""

    def rank(
        self, names: Sequence[str], best: Scores, waiting: Sequence[int], n: int, seq: int
    ) -> SitesRanked:
        """Return what sites are worth, and how n fetches are handed out among them; changes nothing.

        Parameters
        ----------
        names
            Names of the sites, all different.
        best
            `RanksSites.site_value` of each, (n_sites,).
        waiting
            How many fetches each can take; a site that can take none gets none, but has a value.
        n
            Fetches to hand out.
        seq
            Event the decisions are made at.
        """


@runtime_checkable
class RanksSites(Protocol):
    """Knows what sites are worth as a whole."""

    def site_value(self, site: SiteModel) -> float:
        """Return what a fetch from the site is worth, in [0, 1]; with a `site_bandit`, what that goes by."""

    def site_bandit(self) -> SiteBandit | None:
        """Return the bandit that decides between sites, or None: always the best."""


@runtime_checkable
class SuggestsExamples(Protocol):
    """Learns from example pages, and knows which ones it would like to have."""

    def set_examples(self, examples: Sequence[ExamplePage], site: SiteModel) -> None:
        """Take over all example pages of the site; called when the policy is made and when they change."""

    def suggest_examples(self, n: int, site: SiteModel) -> list[ExampleWanted]:
        """Return up to `n` fetched pages to ask a user about, best first. Only reads."""


@runtime_checkable
class SuggestsSeeds(Protocol):
    """Knows where to start a crawl of the site."""

    def suggest_seeds(self, n: int, site: SiteModel) -> list[SeedWanted]:
        """Return up to `n` pages to start a crawl of the site from, best first."""


@runtime_checkable
class StartsWarm(Protocol):
    """Learns what helps on other sites too, and can start from it."""

    def set_experience(self, experiences: Sequence[Experience], site: SiteModel) -> None:
        """Start from what was learned elsewhere; called once, when the policy is made."""

    def experience(self, site: SiteModel) -> Experience:
        """Return what was learned on this site, without what it started from. Only reads."""


@runtime_checkable
class TakesWanted(Protocol):
    """Goes by what the crawl says it wants in words."""

    def set_wanted(self, wanted: Wanted | None, site: SiteModel) -> None:
        """Crawl for this from now on, None: nothing is said; the same as before changes nothing."""


@runtime_checkable
class RequestsFetches(Protocol):
    """Knows which pages would teach it most."""

    def suggest_fetches(self, n: int, site: SiteModel) -> list[Suggestion]:
        """Return up to `n` unfetched pages that would teach the policy most; it never waits for one."""


@runtime_checkable
class TellsPageTypes(Protocol):
    """Tells lists from threads, and the pages of one thread from those of another."""

    def page_type_of(self, page: PageObservation, site: SiteModel) -> int:
        """Return the type of a page, new or observed, see `types.INDEX_PAGE`; 0 if not known. Only reads."""

    def thread_of(self, page: PageObservation, site: SiteModel) -> str:
        """Return the URL of the first page of the thread that a page belongs to; empty if none is known."""


@runtime_checkable
class TellsRelevance(Protocol):
    """Tells how far pages are what the crawl wants in words."""

    def relevance_of(self, page: PageObservation, site: SiteModel) -> PageRelevance | None:
        """Return how far an observed page is wanted, and why; None if not known. Only reads."""


@runtime_checkable
class ExportsRules(Protocol):
    """Learns something about URLs that can be said by regular expressions."""

    def rules(self, site: SiteModel) -> list[UrlRule]:
        """Return what the policy learned about URLs, most telling first."""


@runtime_checkable
class DescribesItself(Protocol):
    """Says in words what it goes by."""

    def describe(self, site: SiteModel) -> str:
        """Say in one sentence what the policy goes by on the site, and why it abstains if it does."""


@runtime_checkable
class Relearns(Protocol):
    """Notices that a part of the site changed."""

    @property
    def relearned(self) -> int:
        """How often the policy forgot what it knew of a part of the site because that part had changed."""


@runtime_checkable
class MadeOfParts(Protocol):
    """Made of other policies."""

    @classmethod
    def parts_of(cls, params: Any) -> list[Part]:
        """Return class and parameters of each policy that one with these parameters is made of."""


C = TypeVar("C")


def _find(policy: Policy, capability: type[C]) -> C | None:
    """Return the policy as one that has a capability, None if it has not.

    What a class can do does not change, so each is looked at once: an `isinstance` of a protocol takes 7 us.
    """
    kind = type(policy)
    if (kind, capability) not in _FOUND:
        _FOUND[kind, capability] = isinstance(policy, capability)
    return policy if _FOUND[kind, capability] else None  # type: ignore[return-value]


_FOUND: dict[tuple[type[Policy], Any], bool] = {}


def crawl_wide(policy: Policy) -> CrawlKnowledge | None:
    """Return what a policy knows of the crawl, None if nothing."""
    found = _find(policy, UsesCrawlWideState)
    return getattr(found, "crawl_wide", None)  # which one that failed when it was made has not


def sharing(policy: Policy) -> Sharing:
    """Return what a policy shares over the sites of a crawl."""
    known = crawl_wide(policy)
    return known.sharing if known is not None else Sharing.NOTHING


def share(policy: Policy, known: CrawlKnowledge) -> None:
    """Let a policy that knows something of the crawl know this instead."""
    if (found := _find(policy, UsesCrawlWideState)) is not None:
        found.crawl_wide = known


def model_activated(policy: Policy, site: SiteModel) -> None:
    """Tell a policy of a new site model."""
    if (found := _find(policy, FollowsSiteModel)) is not None:
        found.model_activated(site)


def mining_settings(policy: Policy) -> dict[str, Any]:
    """Return what a policy wants browse logs mined with; empty: nothing in particular."""
    found = _find(policy, ReadsBrowseLogs)
    return found.mining_settings() if found is not None else {}


def logs_mined(policy: Policy, site: SiteModel) -> None:
    """Tell a policy of new browse logs."""
    if (found := _find(policy, ReadsBrowseLogs)) is not None:
        found.logs_mined(site)


def expect(policy: Policy, link: LinkBatch, site: SiteModel) -> None:
    """Let a policy say what it expects of the link, one row, that is fetched next."""
    if (found := _find(policy, ExpectsOutcomes)) is not None:
        found.expect(link, site)


def is_able(policy: Policy, site: SiteModel, *, has_feedback: bool) -> bool:
    """Say whether scores are more than a fallback: site learned, feedback come, as far as needed."""
    found = _find(policy, Abstains)
    if found is not None:
        return found.is_able(site, has_feedback=has_feedback)
    return (has_feedback or not policy.needs_feedback) and (
        site.templates is not None or not policy.needs_learning
    )


def expected_rewards(policy: Policy, groups: Sequence[tuple[int, int]], site: SiteModel) -> Scores | None:
    """Return the reward expected of fetching one more link of each group, None if the policy tells none.

    None: what the site's fetches brought so far stands for it.
    """
    found = _find(policy, EstimatesRewards)
    return found.expected_rewards(groups, site) if found is not None else None


def in_flight(policy: Policy, site: SiteModel) -> FetchesInFlight | None:
    """Return what a policy counts fetches under way in; None if they make no difference to it."""
    found = _find(policy, CountsInFlight)
    return found.in_flight(site) if found is not None else None


def rescored(policy: Policy, site: SiteModel) -> list[KnownUrl]:
    """Return the URLs that the last page changed elsewhere; none for policies that are not `per_url`."""
    found = _find(policy, MovesUrls) if policy.per_url else None
    return found.rescored(site)[:MAX_RESCORED] if found is not None else []


def site_value(policy: Policy, site: SiteModel) -> float:
    """Return what a fetch from a site is worth, in [0, 1], whichever of its links is taken.

    For policies that do not say: the value of a bucket nobody knows, which is the mean of the site for
    bandits over links, and for others the same number for all sites.
    """
    found = _find(policy, RanksSites)
    return found.site_value(site) if found is not None else float(policy.value([""], site)[0])


def site_bandit(policy: Policy) -> SiteBandit | None:
    """Return the bandit that decides between sites, or None: always the best."""
    found = _find(policy, RanksSites)
    return found.site_bandit() if found is not None else None


def set_examples(policy: Policy, examples: Sequence[ExamplePage], site: SiteModel) -> None:
    """Give a policy all example pages of the site."""
    if (found := _find(policy, SuggestsExamples)) is not None:
        found.set_examples(examples, site)


def set_wanted(policy: Policy, wanted: Wanted | None, site: SiteModel) -> None:
    """Tell a policy what the crawl wants in words."""
    if (found := _find(policy, TakesWanted)) is not None:
        found.set_wanted(wanted, site)


def set_experience(policy: Policy, experiences: Sequence[Experience], site: SiteModel) -> None:
    """Let a policy start from what was learned elsewhere."""
    if (found := _find(policy, StartsWarm)) is not None:
        found.set_experience(experiences, site)


def experience(policy: Policy, site: SiteModel) -> Experience | None:
    """Return what a policy learned on a site that helps on others, None if nothing."""
    found = _find(policy, StartsWarm)
    learned = found.experience(site) if found is not None else None
    return learned if learned is not None and learned.groups else None


def suggest_examples(policy: Policy, n: int, site: SiteModel) -> list[ExampleWanted]:
    """Return up to `n` fetched pages to ask a user about, best first."""
    found = _find(policy, SuggestsExamples)
    return found.suggest_examples(n, site) if found is not None else []


def suggest_seeds(policy: Policy, n: int, site: SiteModel) -> list[SeedWanted]:
    """Return up to `n` pages to start a crawl of the site from, best first."""
    found = _find(policy, SuggestsSeeds)
    return found.suggest_seeds(n, site) if found is not None else []


def suggest_fetches(policy: Policy, n: int, site: SiteModel) -> list[Suggestion]:
    """Return up to `n` unfetched pages that would teach the policy most."""
    found = _find(policy, RequestsFetches)
    return found.suggest_fetches(n, site) if found is not None else []


def page_type_of(policy: Policy, page: PageObservation, site: SiteModel) -> int:
    """Return the type of a page, 0 if not known."""
    found = _find(policy, TellsPageTypes)
    return found.page_type_of(page, site) if found is not None else 0


def thread_of(policy: Policy, page: PageObservation, site: SiteModel) -> str:
    """Return the URL of the first page of the page's thread, empty if none is known."""
    found = _find(policy, TellsPageTypes)
    return found.thread_of(page, site) if found is not None else ""


def relevance_of(policy: Policy, page: PageObservation, site: SiteModel) -> PageRelevance | None:
    """Return how far an observed page is what the crawl wants in words, None if the policy does not tell."""
    found = _find(policy, TellsRelevance)
    return found.relevance_of(page, site) if found is not None else None


def rules(policy: Policy, site: SiteModel) -> list[UrlRule]:
    """Return what a policy learned about URLs, most telling first."""
    found = _find(policy, ExportsRules)
    return found.rules(site) if found is not None else []


def describe(policy: Policy, site: SiteModel) -> str:
    """Return one sentence on what a policy goes by on the site; empty if it says nothing."""
    found = _find(policy, DescribesItself)
    return found.describe(site) if found is not None else ""


def relearned(policy: Policy) -> int:
    """Return how often a policy forgot what it knew of a part of the site because that part had changed."""
    found = _find(policy, Relearns)
    return found.relearned if found is not None else 0


@cache  # of a class, as in `_find`
def _has_parts(kind: type[Policy]) -> bool:
    return issubclass(kind, MadeOfParts)


def parts_of(kind: type[Policy], params: Any) -> list[Part]:
    """Return the policies that one of this class is made of, and those that these are made of."""
    if not _has_parts(kind):
        return []
    own = kind.parts_of(params)  # type: ignore[attr-defined]
    return [inner for part in own for inner in (part, *parts_of(*part))]


def wants_logs(kind: type[Policy], params: Any) -> bool:
    """Say whether a policy with these parameters, or one that it is made of, reads browse logs."""
    return kind.reads_logs or any(part.reads_logs for part, _ in parts_of(kind, params))


def wants_layout(kind: type[Policy], params: Any) -> bool:
    """Say whether a policy with these parameters, or one that it is made of, reads the layout of pages."""
    return kind.reads_layout or any(part.reads_layout for part, _ in parts_of(kind, params))


def wants_words(kind: type[Policy], params: Any) -> bool:
    """Say whether a policy with these parameters, or one that it is made of, reads the words of pages."""
    return kind.reads_words or any(part.reads_words for part, _ in parts_of(kind, params))


def takes_wanted(kind: type[Policy], params: Any) -> bool:
    """Say whether a policy with these parameters, or one that it is made of, goes by `wanted`."""
    parts = [part for part, _ in parts_of(kind, params)]
    own = [] if issubclass(kind, MadeOfParts) else [kind]
    return any(issubclass(part, TakesWanted) and not issubclass(part, MadeOfParts) for part in own + parts)


def wants_templates(kind: type[Policy], params: Any) -> bool:
    """Say whether a policy with these parameters, or one that it is made of, reads the templates of sites."""
    return kind.reads_templates or any(part.reads_templates for part, _ in parts_of(kind, params))


def learns_from_feedback(kind: type[Policy], params: Any) -> bool:
    """Say whether a policy with these parameters, or one that it is made of, learns from reports only."""
    return kind.needs_feedback or any(part.needs_feedback for part, _ in parts_of(kind, params))


def load_libraries(kind: type[Policy], params: Any) -> None:
    """Import what a policy with these parameters, and those it is made of, would import while it learns.

    It may take seconds: do it where nobody waits.
    """
    for of, part in ((kind, params), *parts_of(kind, params)):
        if issubclass(of, LoadsLibraries):
            of.load_libraries(part)


def residual(kind: type[Policy], params: Any) -> float:
    """Return the most that the score of a link differs from the value of its bucket, in [0, 1]."""
    return max([kind.residual, *(part.residual for part, _ in parts_of(kind, params))])
