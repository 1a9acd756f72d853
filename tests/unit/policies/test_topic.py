"""Pages about the topic first, and what leads to them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged, FeedbackGiven, PageFetched, decode, encode
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.engine.results import PageOutcome
from linkscore_scoring.features.html import extract
from linkscore_scoring.features.types import Words
from linkscore_scoring.policies.topic import Topical
from linkscore_scoring.policies.topic.learning import SiteArms
from linkscore_scoring.site.learning import SiteBounds
from linkscore_scoring.state import packed, unpacked
from linkscore_scoring.wanted import PageRelevance, Wanted, WantedQuery, WantedSample

HOST = "http://h"
KAYAKS = Wanted((WantedQuery("kayak repair"),))
QUESTION = Wanted((WantedQuery("how do I repair the hull of a kayak"),))


def crawl(wanted: Wanted | None = KAYAKS) -> CrawlModel:
    config = CrawlConfig("c", PolicyChoice("topic"), wanted=wanted)
    config.check()
    return CrawlModel(config, ticket_key=b"key")


ALL = Words.WITH_LANGUAGE


def fetch(model: CrawlModel, path: str, html: str, *, words: Words = ALL) -> PageOutcome:
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
    first = fetch(crawl(), "/", links(("/1", "Kayak repair"), ("/kayak-repair", "x"), ("/2", "About us")))
    anchor, url, neither = scores(first)
    assert anchor > url > neither


def test_links_on_relevant_pages_come_before_those_on_others() -> None:
    model = crawl()
    fetch(model, "/", links(("/good", "one"), ("/bad", "two")))
    good = fetch(model, "/good", "<title>Kayak repair</title>" + links(("/x", "a")))
    bad = fetch(model, "/bad", "<title>Cars</title>" + links(("/y", "a")))
    assert scores(good)[0] > scores(bad)[0]


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
    _, values = CrawlQueries(model).rank_buckets(found.links.bucket_names)
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


def test_pages_in_another_language_and_short_pages_are_worth_less() -> None:
    text = "<title>Kayak repair</title><p>" + "How to repair a kayak at home with simple tools and glue. " * 5
    worth = []
    for wanted in (KAYAKS, replace(KAYAKS, languages=("cs",)), replace(KAYAKS, least_words=10_000)):
        model = crawl(wanted)
        worth.append(scores(fetch(model, "/", text + links(("/x", "next"))))[0])
    assert worth[0] > worth[2] > worth[1]


PROSE = "A kayak that leaks can be repaired at home, with glue and patience, as everybody here knows. "


def test_the_parts_of_relevance_make_up_its_value() -> None:
    model = crawl(replace(KAYAKS, languages=("en",), least_words=200))
    found = fetch(model, "/", f"<title>Kayak repair</title><p>{PROSE * 6}</p>").relevance
    assert found is not None
    assert found.words is not None
    assert found.length is not None
    assert found.language == "en"
    assert found.value == pytest.approx(found.words * found.length)


def test_a_page_near_the_query_by_meaning_is_worth_more_and_no_model_is_needed_to_read_its_event_again() -> (
    None
):
    wanted = replace(KAYAKS, embedding="toy", embedding_weight=0.25)
    found = []
    for meaning in (None, 1.0):
        model = crawl(wanted)
        page = extract(b"<title>Mending canoes</title>", url=f"{HOST}/", words=wanted.reads)
        assert page.words is not None
        page.words.meaning = meaning
        event = PageFetched("", "h", page.url, page.url, 200, "", b"", 0.0, page)
        again = decode(encode(event))
        assert again.features.words.excerpt == ""
        outcome = model.apply(model.seq + 1, again)
        assert outcome.relevance is not None
        found.append((outcome.relevance.value, outcome.relevance.meaning))
    assert found == [(0.0, None), (0.25, 1.0)]


def test_the_first_relevant_pages_add_their_words_to_the_query() -> None:
    model = crawl()
    said = "<p>Fibreglass and fibreglass, with kayak repair.</p>"
    about = f"<title>Kayak repair</title><h1>Kayak repair</h1>{said}"
    before = fetch(model, "/", links(("/1", "Fibreglass"), ("/2", "Cars")))
    fetch(model, "/a", about)
    after = fetch(model, "/b", "<title>Fibreglass</title>" + links(("/3", "x")))
    assert scores(before)[0] == scores(before)[1]
    assert after.relevance is not None
    assert 0.0 < after.relevance.value < 0.2
    for n in range(40):
        fetch(model, f"/more/{n}", about)
    (state,) = model.crawl_wide.to_state().values()
    assert len(state["samples"]) == Topical.tunables.found_pages


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
        fetch(model, path, "<title>Kayak repair</title>").relevance for path in ("/a", "/jobs")
    )
    assert wanted is not None
    assert wanted.value > 0.5
    assert unwanted == PageRelevance(0.0)


def test_what_is_wanted_may_change_at_any_time() -> None:
    model = crawl()
    fetch(model, "/", links(("/1", "Kayak repair"), ("/2", "Used cars")))
    changed = replace(model.config, wanted=Wanted((WantedQuery("used cars"),)))
    model.apply(model.seq + 1, ConfigChanged(changed.to_state()))
    kayak, cars = scores(fetch(model, "/b", links(("/1", "Kayak repair"), ("/2", "Used cars"))))
    assert cars > kayak
    urls = [f"{HOST}/1", f"{HOST}/2"]
    known = CrawlQueries(model).score_links(urls, urls, [b""] * 2, [""] * 2).scores
    assert known[1] > known[0]  # words of anchors seen before are remembered


def test_the_crawl_is_the_same_after_a_restart_and_after_its_events_again() -> None:
    model, again = crawl(), crawl()
    pages = [
        ("/", links(("/tag/kayak", "kayak"), ("/2", "x"))),
        ("/tag/kayak", links(*((f"/p{n}", "p") for n in range(5)))),
    ]
    for path, html in pages:
        fetch(model, path, html)
        fetch(again, path, html)
    restored = crawl()
    restored.load_state(unpacked(packed(model.to_state())))
    page = "<title>Kayak</title>" + links(("/q", "repair"), ("/p3", "p"))
    expected = scores(fetch(model, "/p0", page))
    assert scores(fetch(again, "/p0", page)) == scores(fetch(restored, "/p0", page)) == expected
    assert packed(restored.to_state()) == packed(model.to_state())


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


def test_pages_without_words_teach_nothing_of_the_topic() -> None:
    model = crawl()
    fetch(model, "/", links(("/1", "Kayak"), ("/2", "x")), words=Words.NONE)
    first = fetch(model, "/1", links(("/3", "Kayak"), ("/4", "x")), words=Words.NONE)
    assert scores(first)[0] > scores(first)[1]


def test_memory_is_bounded_however_many_words_and_links_there_are() -> None:
    bounds = SiteBounds(links=30, contexts=2, blocks=30, apaths=30, arms=30)
    model = CrawlModel(
        CrawlConfig("c", PolicyChoice("topic"), bounds=bounds, wanted=KAYAKS), ticket_key=b"key"
    )
    sizes = []
    for n in range(270):
        new = links(*((f"/p{n}-{i}", f"kayak {n} word{n}x{i}") for i in range(5)), place=f"li class=c{n}")
        fetch(
            model,
            f"/p{n}-0",
            f"<title>Kayak {n}</title><p>{' '.join(f'w{n}x{i}' for i in range(30))}</p>{new}",
        )
        if n in (89, 269):
            state = [model.sites["h"].served.to_state(), model.crawl_wide.to_state()]
            sizes.append(len(packed(state)))
    assert sizes[1] <= 1.1 * sizes[0]


def test_sites_with_pages_about_the_topic_come_first() -> None:
    model = crawl()
    for site, title in (
        ("good.org", "Kayak repair"),
        ("bad.org", "Used cars"),
        ("good.org", "Kayak repair II"),
    ):
        url = f"http://{site}/{len(title)}"
        page = extract(f"<title>{title}</title>".encode(), url=url, words=Words.COUNTED)
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
    page = extract(html.encode(), url=url, words=Words.COUNTED)
    return model.apply(model.seq + 1, PageFetched("", site, url, url, 200, "", b"", 0.0, page))


def test_a_site_hardly_known_rises_while_another_is_crawled() -> None:
    model = crawl()
    fetch_from(model, "small.org", "/", links(("/1", "one"), ("/2", "two")))
    fetch_from(model, "big.org", "/", links(("/1", "one"), ("/2", "two")))
    leads = []
    for n in range(3, 43):
        fetch_from(
            model,
            "big.org",
            f"/{n}",
            f"<title>{'Kayak repair' if n < 10 else 'Used cars'}</title>" + links((f"/{n + 1}", "next")),
        )
        urls = ["http://small.org/1", "http://big.org/1"]
        small, big = CrawlQueries(model).score_links(urls, urls, [b""] * 2, [""] * 2).scores
        leads.append(small - big)
    assert leads[5] < 0.0 < leads[-1]  # the site that has what is wanted, as long as it has
    (why,) = CrawlQueries(model).explain(urls[:1], urls[:1], [b""], [""])
    terms = {term.name: term.value for term in why.explanation.terms}
    assert terms["site"] > 0.2
    value = sum(terms.values())
    assert 0.5 * (1 + value / (1 + abs(value))) == pytest.approx(small)


def test_a_site_keeps_its_count_when_its_arms_reach_their_bound() -> None:
    arms = SiteArms()
    arms.max_arms = 6
    for n in range(50):
        arms.credit([(n, n)], 1.0)
    assert arms.pulls == 50
    assert arms.mean((99, 99), 0.0) == pytest.approx(50 / 52)


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


def test_unseen_links_count_for_nothing_where_a_topic_is_wanted_of_one_site() -> None:
    model = crawl()
    fetch(model, "/", links(("/1", "one"), ("/2", "two")))
    fetch(model, "/1", links(("/3", "three")))
    assert "unseen" not in terms(model, f"{HOST}/2")


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


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("kayak repair", [1.0, 0.25]),
        ("how do I repair a kayak", [1.0, 0.25]),
        ("kayak repair with hull resin glue varnish paddle seat", [0.25, 0.0625]),
    ],
)
def test_three_words_of_a_question_tell_as_much_as_all(query: str, told: list[float]) -> None:
    outcome = fetch(crawl(Wanted((WantedQuery(query),))), "/", links(("/1", "Kayak repair"), ("/2", "kayak")))
    both, one = scores(outcome)
    # v of (1 + v / (1 + v)) / 2
    values = [(2.0 * score - 1.0) / (2.0 - 2.0 * score) for score in (both, one)]
    assert (values[0] - values[1]) / 0.6 == pytest.approx(told[0] - told[1], abs=0.04)


def test_a_question_beside_a_topic_lacks_function_words_and_is_crawled_for_as_a_topic() -> None:
    model = crawl(Wanted((WantedQuery("how do I repair a kayak"), WantedQuery("garden"))))
    found = fetch(model, "/", links(("/1", "How do I pay"), ("/2", "A kayak repair"), ("/3", "Us")))
    how, kayak, neither = scores(found)
    assert kayak > how == neither
    assert all("/w" in name for name in found.links.bucket_names)
    assert "unseen" not in terms(model, f"{HOST}/1")


def test_function_words_of_a_question_lead_nowhere() -> None:
    model = crawl(Wanted((WantedQuery("how do I repair a kayak"),)))
    how, kayak, neither = scores(
        fetch(model, "/", links(("/1", "How do I pay"), ("/2", "A kayak"), ("/3", "Us")))
    )
    assert kayak > how == neither


@pytest.mark.parametrize("wanted", [KAYAKS, QUESTION])
def test_states_are_kept_whether_a_topic_is_wanted_or_a_question_asked(wanted: Wanted) -> None:
    model = crawl(wanted)
    fetch(model, "/", links(("/1", "kayak"), ("/2", "About us")))
    fetch(model, "/1", links(("/3", "kayak hull"), ("/4", "repair")))
    state = unpacked(packed(model.to_state()))
    again = crawl(wanted)
    again.load_state(state)
    page = links(("/5", "kayak repair"), ("/6", "x"))
    assert scores(fetch(again, "/2", page)) == scores(fetch(model, "/2", page))
    assert again.to_state() == model.to_state()
