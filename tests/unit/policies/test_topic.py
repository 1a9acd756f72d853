"""Pages about the topic first, and what leads to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import FeedbackGiven, PageFetched
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.engine.results import PageOutcome
from linkscore_scoring.features.html import extract
from linkscore_scoring.policies.topic.policy import Topical
from linkscore_scoring.state import packed, unpacked
from linkscore_scoring.wanted import Wanted, WantedSample

HOST = "http://h"
KAYAKS = Wanted(("kayak repair",))
QUESTION = Wanted(("how do I repair the hull of a kayak",))


def crawl(wanted: Wanted | None = KAYAKS) -> CrawlModel:
    config = CrawlConfig("c", PolicyChoice("topic"), wanted=wanted)
    config.check()
    return CrawlModel(config, ticket_key=b"key")


def fetch(model: CrawlModel, path: str, html: str, *, words: bool = True) -> PageOutcome:
    url = HOST + path
    page = extract(html.encode(), url=url, content_type="text/html; charset=utf-8", words=words)
    outcome: PageOutcome = model.apply(model.seq + 1, PageFetched("", "h", url, url, 200, "", b"", 0.0, page))
    return outcome


def links(*targets: tuple[str, str], place: str = "li") -> str:
    return "".join(f"<{place}><a href='{path}'>{text}</a></{place}>" for path, text in targets)


def scores(outcome: PageOutcome) -> list[float]:
    return outcome.links.scores.tolist()


def terms(model: CrawlModel, url: str) -> set[str]:
    (why,) = CrawlQueries(model).explain([url], [url], [b""], [""])
    return {term.name for term in why.explanation.terms}


def test_links_that_say_words_of_the_query_come_first() -> None:
    shown = links(("/1", "Kayak repair"), ("/kayaks/repair.html", "x"), ("/kayaks", "x"), ("/2", "About us"))
    anchor, whole_url, url, neither = scores(fetch(crawl(), "/", shown))
    assert whole_url > anchor > url > neither
    model = CrawlModel(CrawlConfig("c", PolicyChoice("keyword"), wanted=KAYAKS), ticket_key=b"key")
    assert int(np.argmax(scores(fetch(model, "/", shown)))) == 1, "no link comes before that of `keyword`"


def test_until_a_page_is_found_links_that_nothing_tells_apart_are_equal() -> None:
    """So the menu is opened in the order found, and not one profile, one tag and one login before it."""
    model = crawl()
    menu = [("/user/ann", "ann"), ("/user/bob", "bob"), ("/tags", "tags")]
    fetch(model, "/", links(*menu))
    fetch(model, "/user/ann", "<title>Ann</title>")
    urls = [f"{HOST}/user/bob", f"{HOST}/tags"]
    bob, tags = CrawlQueries(model).score_links(urls, urls, [b""] * 2, [""] * 2).scores
    assert bob == tags
    assert terms(model, urls[1]) == {"silent"}
    fetch(model, "/user/eve", "<title>Kayak repair</title>")
    assert "silent" not in terms(model, urls[1])


def test_links_beside_one_that_led_to_a_relevant_page_rise() -> None:
    model = crawl()
    fetch(model, "/", links(("/tag/kayak-repair", "kayak repair"), ("/tag/cars", "cars")))
    listing = [(f"/p{n}", f"post {n}") for n in range(6)]
    before = fetch(model, "/tag/kayak-repair", links(*listing))
    fetch(model, "/p0", "<title>Kayak repair at home</title>")
    fetch(model, "/p1", "<title>A kayak and its repair</title>")
    urls = [f"{HOST}/p5"]
    after = CrawlQueries(model).score_links(urls, urls, [before.links.ticket_values[0]], [""])
    assert after.scores[0] > before.links.scores[5]


def test_pages_of_no_relevance_are_passed_through_where_what_lies_behind_pays() -> None:
    model = crawl()
    shelves = [(f"/shelf/{n}", f"shelf {n}") for n in range(4)]
    others = [(f"/misc/{n}", f"misc {n}") for n in range(4)]
    fetch(model, "/", f"<ul>{links(*shelves)}</ul><dl>{links(*others, place='dd')}</dl>")
    for n in range(2):
        repairs = links(*((f"/k{n}{i}", f"Kayak repair {i}") for i in range(4)))
        fetch(model, f"/shelf/{n}", f"<title>Shelf</title>{repairs}")
        fetch(
            model,
            f"/misc/{n}",
            "<title>Misc</title>" + links(*((f"/m{n}{i}", f"more {i}") for i in range(4))),
        )
    urls = [f"{HOST}/shelf/3", f"{HOST}/misc/3"]
    behind, nothing = CrawlQueries(model).score_links(urls, urls, [b""] * 2, [""] * 2).scores
    assert behind > nothing
    (why,) = CrawlQueries(model).explain(urls[:1], urls[:1], [b""], [""])
    terms = {term.name: term.value for term in why.explanation.terms}
    assert terms["gain"] > 0.0
    assert terms["anchor"] == terms["url"] == 0.0


@pytest.mark.parametrize("wanted", [KAYAKS, QUESTION])
def test_buckets_are_worth_what_their_links_are(wanted: Wanted) -> None:
    model = crawl(wanted)
    found = fetch(model, "/", links(("/1", "Kayak repair"), ("/2", "kayak"), ("/3", "About us")))
    values = CrawlQueries(model).plan_fetches(found.links.bucket_names, 0).values
    assert [values[bucket] for bucket in found.links.buckets] == scores(found)
    assert len(found.links.bucket_names) == 3


def test_feedback_takes_the_place_of_relevance() -> None:
    model = crawl()
    fetch(model, "/", "<div>" + links(("/a/1", "x"), ("/a/2", "y"), ("/a/3", "z")) + "</div>")
    before = CrawlQueries(model).score_links([f"{HOST}/a/3"], [f"{HOST}/a/3"], [b""], [""]).scores[0]
    fetch(model, "/a/1", "<title>Cars</title>")
    model.apply(model.seq + 1, FeedbackGiven("", "h", f"{HOST}/a/1", b"", 1.0, 0.0))
    after = CrawlQueries(model).score_links([f"{HOST}/a/3"], [f"{HOST}/a/3"], [b""], [""]).scores[0]
    assert after > before


def test_a_sample_given_by_url_counts_once_it_is_fetched() -> None:
    sample = WantedSample(f"{HOST}/s", f"{HOST}/s")
    model = crawl(Wanted(samples=(sample,)))
    before = fetch(model, "/", links(("/1", "Kayaks"), ("/2", "Cars")))
    fetch(model, "/s", "<title>Kayak</title><h1>Kayak</h1>")
    after = fetch(model, "/again", links(("/1", "Kayaks"), ("/2", "Cars")))
    assert scores(before)[0] == scores(before)[1]
    assert scores(after)[0] > scores(after)[1]


def test_links_beside_a_link_to_a_sample_rise_before_the_sample_is_fetched() -> None:
    found = []
    for samples in ((), (WantedSample(f"{HOST}/p0", f"{HOST}/p0"),)):
        model = crawl(replace(KAYAKS, samples=samples))
        fetch(model, "/", links(("/shelf/3", "Shelf 3"), ("/shelf/4", "Shelf 4")))
        fetch(model, "/shelf/4", links(*((f"/q{n}", f"item {n}") for n in range(4))))
        urls = [f"{HOST}/p3", f"{HOST}/q3"]
        shelf = fetch(model, "/shelf/3", links(*((f"/p{n}", f"item {n}") for n in range(4))))
        tickets = [shelf.links.ticket_values[0]] * 2
        found.append(CrawlQueries(model).score_links(urls, urls, tickets, [""] * 2).scores.tolist())
    (without, other), (beside, elsewhere) = found
    assert without == other
    assert beside > elsewhere
    (why,) = CrawlQueries(model).explain(urls[:1], urls[:1], tickets[:1], [""])
    value = sum(term.value for term in why.explanation.terms)
    assert "alone" in {term.name for term in why.explanation.terms}
    assert 0.5 * (1 + value / (1 + abs(value))) == pytest.approx(beside)


def test_an_unwanted_sample_is_worth_nothing_whatever_it_says() -> None:
    sample = WantedSample(f"{HOST}/jobs", f"{HOST}/jobs", unwanted=True)
    model = crawl(replace(KAYAKS, samples=(sample,)))
    wanted, unwanted = (
        fetch(model, path, "<title>Kayak repair</title>").note.relevance for path in ("/a", "/jobs")
    )
    assert wanted is not None
    assert wanted > 0.5
    assert unwanted == 0.0


def test_the_reason_names_words_of_the_question_only() -> None:
    model = crawl()
    outcome = fetch(
        model, "/", "<p>secret words of the page that nobody asked about</p>" + links(("/1", "Kayaks"))
    )
    ticket = outcome.links.ticket_values[0]
    url = f"{HOST}/fix/repairs"
    (why,) = CrawlQueries(model).explain([url], [url], [ticket], ["Old Kayaks"])
    assert why.explanation.summary.startswith("anchor says kayaks; URL says repairs; links like it led to")
    assert {term.name for term in why.explanation.terms} == {
        "anchor",
        "url",
        "page",
        "arm",
        "list",
        "base",
        "gain",
    }


def test_sites_with_pages_about_the_topic_come_first() -> None:
    model = crawl()
    for site, title in (
        ("good.org", "Kayak repair"),
        ("bad.org", "Used cars"),
        ("good.org", "Kayak repair II"),
    ):
        url = f"http://{site}/{len(title)}"
        page = extract(f"<title>{title}</title>".encode(), url=url, words=True)
        model.apply(model.seq + 1, PageFetched("", site, url, url, 200, "", b"", 0.0, page))
    ranked = CrawlQueries(model).rank_sites(["bad.org", "new.org", "good.org"], [5, 5, 5], 3)
    assert [["bad.org", "new.org", "good.org"][row] for row in ranked.order()] == [
        "good.org",
        "new.org",
        "bad.org",
    ]


def fetch_from(model: CrawlModel, site: str, path: str, html: str) -> PageOutcome:
    """Fetch a page of one of several sites."""
    url = f"http://{site}{path}"
    page = extract(html.encode(), url=url, words=True)
    return model.apply(model.seq + 1, PageFetched("", site, url, url, 200, "", b"", 0.0, page))


def test_arms_that_show_unseen_links_come_first_until_a_question_is_answered() -> None:
    model = crawl(QUESTION)
    boards = [(f"/board/{n}", f"board {n}") for n in range(4)]
    others = [(f"/misc/{n}", f"misc {n}") for n in range(4)]
    fetch(model, "/", f"<ul>{links(*boards)}</ul><dl>{links(*others, place='dd')}</dl>")
    for n in range(2):
        fetch(model, f"/misc/{n}", "<title>Misc</title>")
        fetch(model, f"/board/{n}", links(*((f"/t{n}-{i}", f"thread {i}") for i in range(40))))
    urls = [f"{HOST}/board/3", f"{HOST}/misc/3"]
    board, other = CrawlQueries(model).score_links(urls, urls, [b""] * 2, [""] * 2).scores
    assert board > other
    assert "unseen" in terms(model, urls[0])
    fetch(model, "/misc/2", "<title>How do I repair the hull of a kayak</title>")
    assert "unseen" not in terms(model, urls[0])


def test_on_each_of_several_sites_unseen_links_count_until_a_page_of_the_topic_is_found() -> None:
    model = crawl()
    for site in ("a.org", "b.org"):
        fetch_from(model, site, "/", links(("/1", "one"), ("/2", "two"), place="p"))
    assert {"site", "unseen"} <= terms(model, "http://a.org/2")
    fetch_from(model, "a.org", "/1", "<title>Kayak repair</title>")
    assert "unseen" in terms(model, "http://b.org/2")
    kept = model.shard("a.org").served.to_state()
    model.shard("a.org").served.load_state(unpacked(packed(kept)))
    assert "unseen" not in terms(model, "http://a.org/2")


def test_arms_of_one_of_several_sites_have_no_credit_for_what_the_link_said() -> None:
    worth = []
    for sites in (["a.org"], ["a.org", "b.org"]):
        model = crawl()
        for site in sites:
            fetch_from(model, site, "/", links(("/tag/1", "Kayak repair"), ("/tag/2", "cars")))
        fetch_from(model, "a.org", "/tag/1", "<title>Kayak repair</title>")
        policy = model.shard("a.org").served
        assert isinstance(policy, Topical)
        worth.append(policy.crawl.reward)
    assert worth[0] > 0.5 > worth[1]


def test_function_words_of_a_question_lead_nowhere() -> None:
    model = crawl(Wanted(("how do I repair a kayak",)))
    how, kayak, neither = scores(
        fetch(model, "/", links(("/1", "How do I pay"), ("/2", "A kayak"), ("/3", "Us")))
    )
    assert kayak > how == neither
