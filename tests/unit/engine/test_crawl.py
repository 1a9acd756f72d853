"""What a crawl makes of events: scope, duplicates, redirects, tickets, policies, bounds."""

from __future__ import annotations

from dataclasses import replace

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.events import (
    FeedbackGiven,
    ModelActivated,
    PageFetched,
)
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.features.html import extract
from linkscore_scoring.hashing import hash64
from linkscore_scoring.site.learning import LearningConfig, run
from linkscore_scoring.site.model import Stage
from linkscore_scoring.testing.crawl import GeneratedSite, page_of
from support.recorded_crawls import fetched, model, page, small

A, B, C = "http://h/a", "http://h/b", "http://h/c"


def test_sites_of_one_question_are_scored_each_by_its_own_model() -> None:
    crawl = model()
    crawl.apply(1, page(A, B))
    crawl.apply(2, page("http://i/", "http://i/a", site="i"))
    found = CrawlQueries(crawl).score_links(
        [B, "http://i/a", "http://new/"], [B, "http://i/a", "http://new/"], [b""] * 3, [""] * 3
    )
    assert [found.bucket_names[i].partition("/")[0] for i in found.buckets] == ["h", "i", "new"]
    assert list(crawl.sites) == ["h", "i"]


def test_what_goes_beyond_the_bounds_is_forgotten_and_still_scored() -> None:
    crawl = model(bounds=small())
    for n in range(100):
        url = f"http://h/{n}"
        links = [(f"{url}/{i}", f"html/a[c{n} x]") for i in range(5)]
        features = page_of(url, links=links, texts=[(f"t{n}", 99)])
        outcome = crawl.apply(n + 1, fetched(url, features))
        assert len(outcome.links.scores) == 5
    site = crawl.sites["h"].model
    assert (len(site.memory), len(site.link_paths)) == (60, 5)
    assert 54 < len(site.texts) <= 60
    assert site.memory.evicted > 0
    assert crawl.sites["h"].served.tables.nodes.rows <= 3 * 20 + 2


def test_templates_are_learned_though_no_policy_reads_them() -> None:
    crawl, site = model(learning=LearningConfig(sample_pages=24)), GeneratedSite(3)
    urls = dict.fromkeys([site.home])
    for n in range(40):
        features = site.page(list(urls)[n])
        urls.update(dict.fromkeys(features.links.urls if features else []))
        crawl.apply(crawl.seq + 1, fetched(list(urls)[n], features, site="site.example"))
        for job in crawl.take_jobs():
            crawl.apply(crawl.seq, ModelActivated(job.site, job.built_from_seq, {}), run(job))
    learned = crawl.shard("site.example").model
    assert (learned.revision, learned.stage) == (1, Stage.READY)


def moved(url: str, to: str) -> PageFetched:
    """Return the fetch of a page whose head sends browsers on at once."""
    body = f"<meta http-equiv=refresh content='0;url={to}'><body><p>{'Moved. ' * 9}</p>".encode()
    return replace(page(url), features=extract(body, url=url))


def test_a_page_that_refreshes_at_once_is_no_pull_and_its_target_inherits_the_link() -> None:
    crawl = model(policy=PolicyChoice("harvest"))
    crawl.apply(1, page(A, B))
    (link,) = crawl.shard("h").model.memory.contexts(hash64(B))
    taken = crawl.apply(2, moved(B, C)).observation
    assert taken.refetch
    assert crawl.shard("h").model.memory.contexts(hash64(C)) == [(hash64(B), link[1])]
    assert not crawl.apply(3, page(C)).observation.refetch


def test_what_waited_is_where_a_redirect_leads_and_feedback_on_it_is_no_pull() -> None:
    crawl = model(policy=PolicyChoice("harvest"))
    crawl.apply(1, page(A, B))
    crawl.apply(2, moved(B, C))
    crawl.apply(3, FeedbackGiven("", "h", B, b"", 0.0, 0.0))
    tables, site = crawl.shard("h").served.tables, crawl.shard("h").model
    assert (tables.pulls, site.memory.waiting().total(), tables.nodes["waiting"].sum()) == (1, 1, 1)
    crawl.apply(4, page(C))
    assert (tables.pulls, site.memory.waiting().total()) == (2, 0)
