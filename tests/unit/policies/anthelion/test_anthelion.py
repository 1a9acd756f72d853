"""Host bandit and link classifier: what feedback teaches, and what it teaches other hosts."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.policies.anthelion import clipped, host_scores
from linkscore_scoring.testing.crawl import page_of, report, visit


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
    model = crawl(value_function="best_score")
    taught(model, "a", 12, 12)
    good, bad = asked(model, "http://never-seen/post/99", "http://never-seen/tag/99")
    assert good > 0.5 > bad


def test_a_host_without_good_pages_is_not_worth_more_than_one_with() -> None:
    """Product 0 orders by probability, below all products."""
    found = host_scores("absolute_good_best_score", np.array([0.0, 0.0, 0.001]), np.array([0.2, 0.9, 0.001]))
    assert found[0] < found[1] < found[2]


def test_labels_of_parents_and_siblings_enter() -> None:
    """Same URLs but for numbers: only what they hang on tells them apart."""
    model = crawl()
    for n in range(30):
        hub, good = f"http://h/{n}", n % 2 == 0
        found = [(f"http://h/{n}-{k}", "x/a") for k in range(4)]
        visit(model, hub, page_of(hub, links=found))
        report(model, hub, float(good))
        for url, _ in found[:3]:
            report(model, url, float(good))
    assert asked(model, "http://h/0-3")[0] > asked(model, "http://h/1-3")[0]


def test_reasons_name_probability_host_and_features() -> None:
    model = crawl()
    taught(model, "h", 12, 12)
    [why] = CrawlQueries(model).explain(["http://h/post/99"], ["http://h/post/99"], [b""], [""])
    terms = {term.name: term.value for term in why.explanation.terms}
    assert "host 12 of 24 relevant" in why.explanation.summary
    assert (terms["host good"], terms["host bad"], terms["labels"]) == (12.0, 12.0, 24.0)
    assert terms["url 0/post"] > 0.0
