"""What a crawl makes of events: scope, duplicates, redirects, tickets, policies, bounds."""

from __future__ import annotations

from dataclasses import replace

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import (
    ConfigChanged,
    FeedbackGiven,
    LearningRequested,
    ModelActivated,
    PageFetched,
    decode,
    encode,
)
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.features.html import extract
from linkscore_scoring.hashing import hash64
from linkscore_scoring.site.learning import LearningConfig, run
from linkscore_scoring.site.model import Stage
from linkscore_scoring.state import packed, unpacked
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


SOON = LearningConfig(sample_pages=24)


def answers(crawl: CrawlModel) -> list[list[float]]:
    """Crawl 40 pages of a generated site; return the scores of each, models active as soon as learned."""
    site, scores = GeneratedSite(3), list[list[float]]()
    urls = dict.fromkeys([site.home])
    for n in range(40):
        url = list(urls)[n]
        features = site.page(url)
        urls.update(dict.fromkeys(features.links.urls if features else []))
        outcome = crawl.apply(crawl.seq + 1, fetched(url, features, site="site.example"))
        scores.append(outcome.links.scores.tolist())
        for job in crawl.take_jobs():
            crawl.apply(crawl.seq, ModelActivated(job.site, job.built_from_seq, {}), run(job))
    return scores


def test_templates_that_no_policy_reads_are_learned_when_somebody_asks() -> None:
    waiting = model(extra_policies=(), learning=SOON)
    answers(waiting)
    site = waiting.shard("site.example").model
    assert (site.revision, site.stage, site.waits_for_question) == (0, Stage.SAMPLING, True)
    started = waiting.apply(waiting.seq + 1, LearningRequested("site.example"))
    [job] = waiting.take_jobs()
    assert (job.built_from_seq, len(job.pages)) == (started, len(site.sample))
    waiting.apply(waiting.seq, ModelActivated(job.site, job.built_from_seq, {}), run(job))
    assert (site.stage, site.waits_for_question) == (Stage.READY, False)


def test_a_policy_that_reads_templates_learns_without_being_asked_from_when_it_is_there() -> None:
    crawl = model(extra_policies=(), learning=SOON)
    answers(crawl)
    assert crawl.shard("site.example").model.revision == 0
    changed = replace(crawl.config, policy=PolicyChoice("source_ucc"))
    crawl.apply(crawl.seq + 1, ConfigChanged(changed.to_state()))
    crawl.apply(crawl.seq + 1, page("http://site.example/new", site="site.example"))
    assert [job.site for job in crawl.take_jobs()] == ["site.example"]


def test_titles_of_the_pages_kept_for_learning_are_kept_through_bytes_and_no_others() -> None:
    crawl = model(keep_titles=True, learning=LearningConfig(sample_pages=8, max_sample_pages=8))
    for n in range(12):
        features = replace(page_of(f"http://h/{n}", ["p"]), title=f"T{n}")
        crawl.apply(n + 1, decode(encode(fetched(f"http://h/{n}", features))))
    again = model()
    again.load_state(unpacked(packed(crawl.to_state())))
    for known in (crawl, again):
        titles = known.shard("h").model.titles
        assert list(titles.values()) == [f"T{n}" for n in range(4, 12)]
        assert [titles[one.hash] for one in known.shard("h").model.sample] == list(titles.values())


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
