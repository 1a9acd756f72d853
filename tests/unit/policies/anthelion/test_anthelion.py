"""Host bandit and link classifier: what feedback teaches, and what it teaches other hosts."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged, FeedbackGiven
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.errors import InvalidParams
from linkscore_scoring.policies.anthelion.host_crawl import clipped, host_arm, host_scores
from linkscore_scoring.policies.anthelion.policy import Anthelion
from linkscore_scoring.policies.base import make_params
from linkscore_scoring.state import packed, unpacked
from linkscore_scoring.testing.crawl import report, visit
from linkscore_scoring.testing.pages import page_of
from support.boards import Board


def crawl(**params: object) -> CrawlModel:
    return CrawlModel(CrawlConfig("c", PolicyChoice("anthelion", params)), ticket_key=b"key")


def taught(model: CrawlModel, host: str, good: int, bad: int) -> None:
    """Fetch and label pages in turn: posts are good, tags are bad."""
    labels = [(f"http://{host}/post/{n}", 1.0, n) for n in range(good)]
    labels += [(f"http://{host}/tag/{n}", 0.0, n) for n in range(bad)]
    for url, reward, _ in sorted(labels, key=lambda label: label[2]):
        visit(model, url, page_of(url))
        report(model, url, reward)


def asked(model: CrawlModel, *urls: str) -> list[float]:
    return CrawlQueries(model).score_links(urls, urls, [b""] * len(urls), [""] * len(urls)).scores.tolist()


def known(model: CrawlModel) -> Anthelion:
    served = next(iter(model.sites.values())).served
    assert isinstance(served, Anthelion)
    return served


def test_without_feedback_all_links_are_alike() -> None:
    board = Board("anthelion")
    board.page("/", [("/a/1", "x/a"), ("/b", "x/a")])
    assert len(set(board.scores("/a/1", "/b", "/c?d=1"))) == 1


def test_links_like_relevant_pages_come_first() -> None:
    model = crawl()
    taught(model, "h", 12, 12)
    good, bad = asked(model, "http://h/post/99", "http://h/tag/99")
    assert good > bad


@pytest.mark.parametrize("bad", [6, 60])
def test_until_a_relevant_page_comes_the_least_fetched_url_pattern_is_tried_next(bad: int) -> None:
    model = crawl()
    taught(model, "h", 0, bad)
    visit(model, "http://h/user/1", page_of("http://h/user/1"))
    report(model, "http://h/user/1", 0.0)
    again, once, never = asked(
        model, "http://h/tag/999", "http://h/user/2", "http://h/report/2026/final.html"
    )
    assert again < once < never


@pytest.mark.parametrize("hosts", [3, 30])
def test_until_a_relevant_page_comes_what_other_hosts_showed_in_vain_is_not_tried_on_each(hosts: int) -> None:
    model = crawl()
    for n in range(hosts):
        visit(model, f"http://h{n}/contact", page_of(f"http://h{n}/contact"))
        report(model, f"http://h{n}/contact", 0.0)
    visit(model, "http://h0/user/1", page_of("http://h0/user/1"))
    report(model, "http://h0/user/1", 0.0)
    again, once, never = asked(model, "http://new/contact", "http://new/user/2", "http://new/report/2026/end")
    assert again < once < never


def test_what_was_tried_in_vain_is_kept_until_a_relevant_page_comes() -> None:
    model, restored = crawl(), crawl()
    taught(model, "a", 0, 3)
    restored.load_state(unpacked(packed(model.to_state())))
    urls = ["http://b/tag/9", "http://b/post/9"]
    assert asked(restored, *urls) == asked(model, *urls)
    assert "vain" in known(restored).crawl_wide.to_state()
    taught(restored, "a", 1, 0)
    assert "vain" not in known(restored).crawl_wide.to_state()


@pytest.mark.parametrize(("good", "bad", "by_pattern"), [(2, 59, False), (2, 60, True), (6, 139, False)])
def test_on_a_host_of_few_relevant_and_many_other_pages_url_patterns_decide(
    good: int, bad: int, by_pattern: bool
) -> None:
    """(g + r) / (n + 1), r the host's own: all posts were relevant, no tag was, nobody fetched a report."""
    model = crawl(value_function="best_score", hub_weight=0.0)
    links = [(f"http://h/{kind}/{n}", f"html/{kind}") for kind in ("post", "tag") for n in range(400)]
    visit(model, "http://h/", page_of("http://h/", links=[*links, ("http://h/report/2026/end", "html/b")]))
    taught(model, "h", good, bad)
    worth = asked(model, "http://h/post/399", "http://h/report/2026/end", "http://h/tag/399")
    own = (good + 1) / (good + bad + 2)
    expected = [(good + own) / (good + 1), own, own / (bad + 1)]
    assert np.allclose(worth, np.maximum(expected, clipped(np.zeros(1))), rtol=0, atol=1e-6) == by_pattern


def test_what_one_host_teaches_another_profits_from() -> None:
    model = crawl(value_function="best_score", features="url")
    taught(model, "a", 12, 12)
    good, bad = asked(model, "http://never-seen/post/99", "http://never-seen/tag/99")
    assert good > 0.5 > bad


def test_between_hosts_the_better_one_comes_first() -> None:
    model = crawl(value_function="success_rate")
    taught(model, "good", 9, 3)
    taught(model, "bad", 3, 9)
    [better, new, worse] = asked(model, "http://good/x", "http://new/x", "http://bad/x")
    assert better == pytest.approx(10 / 14, abs=1e-8)
    assert new == pytest.approx(1 / 2, abs=1e-8)
    assert worse == pytest.approx(4 / 14, abs=1e-8)


def test_a_host_without_good_pages_is_not_worth_more_than_one_with() -> None:
    """Product 0 orders by probability, below all products."""
    found = host_scores("absolute_good_best_score", np.array([0.0, 0.0, 0.001]), np.array([0.2, 0.9, 0.001]))
    assert found[0] < found[1] < found[2]


def test_labels_are_counted_once_and_corrected() -> None:
    model = crawl()
    taught(model, "h", 2, 1)
    report(model, "http://h/post/0", 1.0)
    arm = known(model).crawl_wide.hosts.arms[host_arm("h")]
    assert (arm.good, arm.bad) == (2.0, 1.0)
    report(model, "http://h/post/0", 0.0)
    assert (arm.good, arm.bad) == (1.0, 2.0)


def test_feedback_for_a_page_never_fetched_teaches_and_one_by_ticket_alone_teaches_the_host() -> None:
    model = crawl()
    outcome = visit(model, "http://h/", page_of("http://h/", links=[("http://h/post/1", "x/a")]))
    assert report(model, "http://h/post/1", 1.0)
    assert known(model).crawl_wide.classifier.labels == [0, 1]
    model.apply(model.seq + 1, FeedbackGiven("", "h", "", outcome.links.ticket_values[0], 0.0, 0.0))
    assert known(model).crawl_wide.classifier.labels == [0, 1]
    arm = known(model).crawl_wide.hosts.arms[host_arm("h")]
    assert (arm.good, arm.bad) == (1.0, 1.0)


def test_labels_of_parents_and_siblings_enter() -> None:
    """Same URLs but for numbers: only what they hang on tells them apart."""
    model = crawl(features="parents+siblings")
    for n in range(30):
        hub, good = f"http://h/{n}", n % 2 == 0
        found = [(f"http://h/{n}-{k}", "x/a") for k in range(4)]
        visit(model, hub, page_of(hub, links=found))
        report(model, hub, float(good))
        for url, _ in found[:3]:
            report(model, url, float(good))
    assert asked(model, "http://h/0-3")[0] > asked(model, "http://h/1-3")[0]


def test_with_lambda_one_the_order_of_hosts_is_drawn_anew_at_every_event() -> None:
    model = crawl(explore_prob=1.0)
    hosts = [f"h{n}" for n in range(6)]
    for host in hosts:
        taught(model, host, 1, 0)
    orders = set()
    for n in range(20):
        report(model, f"http://h0/post/{n}", 1.0)
        order, _ = CrawlQueries(model).rank_buckets([f"{host}/p0" for host in hosts])
        again, _ = CrawlQueries(model).rank_buckets([f"{host}/p0" for host in hosts])
        assert order.tolist() == again.tolist()
        orders.add(tuple(order.tolist()))
    assert len(orders) > 10


def test_a_restart_changes_nothing() -> None:
    model = crawl(features="host+url+anchor+apath+parents+siblings", value_function="success_rate")
    taught(model, "a", 12, 7)
    taught(model, "b", 3, 9)
    restored = crawl(features="host+url+anchor+apath+parents+siblings", value_function="success_rate")
    restored.load_state(unpacked(packed(model.to_state())))
    urls = ["http://a/post/77", "http://b/tag/5", "http://c/post/1"]
    assert asked(restored, *urls) == asked(model, *urls)
    for each in (model, restored):
        taught(each, "c", 5, 5)
    assert asked(restored, *urls) == asked(model, *urls)
    assert packed(restored.to_state()) == packed(model.to_state())


def test_a_policy_that_is_kept_when_the_crawl_changes_keeps_what_it_knows() -> None:
    model = crawl()
    taught(model, "h", 12, 12)
    before = asked(model, "http://h/post/99", "http://other/tag/1")
    harvest = CrawlConfig("c", PolicyChoice("harvest"), extra_policies=(PolicyChoice("anthelion"),))
    model.apply(model.seq + 1, ConfigChanged(harvest.to_state()))
    urls = ["http://h/post/99", "http://other/tag/1"]
    found = CrawlQueries(model).score_links(urls, urls, [b""] * 2, [""] * 2, choice=PolicyChoice("anthelion"))
    assert found.scores.tolist() == before


def test_reasons_name_probability_host_and_features() -> None:
    model = crawl()
    taught(model, "h", 12, 12)
    [why] = CrawlQueries(model).explain(["http://h/post/99"], ["http://h/post/99"], [b""], [""])
    terms = {term.name: term.value for term in why.explanation.terms}
    assert "host 12 of 24 relevant" in why.explanation.summary
    assert (terms["host good"], terms["host bad"], terms["labels"]) == (12.0, 12.0, 24.0)
    assert terms["url 0/post"] > 0.0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("value_function", "best"),
        ("classifier", "svm"),
        ("features", "url+colour"),
        ("explore_prob", 1.5),
        ("decay_pulls", -1),
    ],
)
def test_bad_parameters_are_named(field: str, value: object) -> None:
    with pytest.raises(InvalidParams) as caught:
        make_params(Anthelion, {field: value})
    assert [problem.field for problem in caught.value.problems] == [field]
