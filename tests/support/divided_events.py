"""Events of every kind that a site has, of the sites of a crawl of one group."""

from __future__ import annotations

from dataclasses import replace

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import (
    CompanionTold,
    ConfigChanged,
    Event,
    FeedbackGiven,
    LearningFailed,
    LearningRequested,
    LogsMined,
    ModelActivated,
    PageFetched,
)

SITES = [f"{n}.test" for n in range(9)]
CONFIG = CrawlConfig("crawl", seed=3, create_time_s=1.5)


def page_of(site: str, n: int, ticket: bytes = b"") -> PageFetched:
    return PageFetched(
        f"{site} {n}", site, f"http://{site}/{n}", f"http://{site}/{n}", 500, "", ticket, n, None
    )


def events_of(config: CrawlConfig = CONFIG) -> list[Event]:
    """Return events of every kind that a site has, with two changes of the crawl between."""
    made: list[Event] = [ConfigChanged(config.to_state())]
    for n in range(30):
        site = SITES[n * 7 % len(SITES)]
        made.append(page_of(site, n))
        if n % 10 == 4:
            made += [
                FeedbackGiven(f"f{n}", site, f"http://{site}/{n}", b"ticket", 0.5, n),
                LearningRequested(site),
                LearningFailed(site, len(made) + 2),
                ModelActivated(site, len(made) + 2, "x", {"built_from_seq": len(made) + 2, "rest": [n]}),
                LogsMined(site, "d", {"a": 1}),
                CompanionTold(site, "revisit", {"b": 2}),
                ConfigChanged(replace(config, keep_titles=True).to_state()),
            ]
    return made
