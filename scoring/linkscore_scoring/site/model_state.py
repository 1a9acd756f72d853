"""A site model as plain values, and back."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from linkscore_scoring.browse_logs.mined import MinedSite
from linkscore_scoring.clustering.identity import ClusterIdentities
from linkscore_scoring.clustering.templates import TemplateModel
from linkscore_scoring.errors import reading_state
from linkscore_scoring.site.learning import SampledPage, navigation_params
from linkscore_scoring.site.navigation import NavigationTable
from linkscore_scoring.site.sampling import SamplingPlan
from linkscore_scoring.site.schedule import LearningSchedule
from linkscore_scoring.state import State
from linkscore_scoring.urls.pattern_tree import UrlPatterns

if TYPE_CHECKING:
    from linkscore_scoring.site.model import SiteModel


def state_of(model: SiteModel) -> State:
    """Return a model as plain values."""
    return {
        "revision": model.revision,
        "counts": [model.pages, model.failed, model.duplicates],
        "apaths": model.apaths.to_state(),
        "memory": model.memory.to_state(),
        "texts": model.texts.to_state(),
        "patterns": model.patterns.to_state(),
        "yields": model.yields.to_state(),
        "flips": model.pagination.to_state(),
        "sessions": model.sessions.to_state(),
        "navigation": model.navigation.to_state(),
        "templates": model.templates.to_state() if model.templates else None,
        "identities": asdict(model.identities),
        "crawled": list(model.crawled.items()),
        "sample": [page.to_state() for page in model.sample],
        "aliases": list(model.aliases.items()),
        "schedule": model.schedule.to_state(),
        "plan": model.plan.to_state(),
        "plan_urls": list(model.plan_urls.items()),
        "learning_since": model.learning_since,
        "browse": model.browse.to_state() if model.browse else None,
    }


def load_state(model: SiteModel, state: State) -> None:
    """Give a new model the state of another.

    Raises
    ------
    CorruptState
        If a field is missing or malformed.
    """
    with reading_state(f"site {model.name}"):
        model.revision = int(state["revision"])
        model.pages, model.failed, model.duplicates = state["counts"]
        model.apaths.load_state(state["apaths"])
        model.memory.load_state(state["memory"])
        model.texts.load_state(state["texts"])
        model.patterns = UrlPatterns.from_state(state["patterns"], model.patterns.params)
        model.yields.load_state(state["yields"])
        model.pagination.load_state(state["flips"])
        model.sessions.load_state(state["sessions"])
        model.navigation = NavigationTable.from_state(state["navigation"], navigation_params(model.learning))
        model.templates = TemplateModel.from_state(state["templates"]) if state["templates"] else None
        model.identities = ClusterIdentities(**state["identities"])
        model.crawled = Counter(dict(state["crawled"]))
        model.sample.extend(map(SampledPage.from_state, state["sample"]))
        model.aliases = dict(state["aliases"])
        model.schedule = LearningSchedule.from_state(state["schedule"])
        model.plan = SamplingPlan.from_state(state["plan"], max_urls=20_000, max_seen=50_000)
        model.plan_urls = dict(state["plan_urls"])
        model.learning_since = int(state["learning_since"])
        model.browse = MinedSite.from_state(state["browse"]) if state["browse"] else None
