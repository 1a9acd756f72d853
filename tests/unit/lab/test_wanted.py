"""Crawls for what is wanted in words: tasks from tags that pages carry, and every order on one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from linkscore_lab.archives import write_warc
from linkscore_lab.datasets.relevance import ByTag, ByUrl, carried_tags, choose_relevance
from linkscore_lab.experiments.wanted import tasks as stored_tasks
from linkscore_lab.experiments.wanted.measure import ORDERS, TIMES, Bench
from linkscore_lab.experiments.wanted.tasks import SITES, TAGS, TagTask, WantedSite, tag_tasks
from linkscore_lab.replay import meaning, run
from linkscore_lab.replay.prepare import SiteSource, prepare_site
from linkscore_lab.replay.stored import StoredSite
from linkscore_lab.replay.suite import read_suite
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.features.types import Words
from linkscore_scoring.wanted import Wanted, WantedQuery

HOME = "http://blog.test/"
TOPICS = ("kayaks", "cameras", "bread", "maps")
POSTS = 12


def blog() -> dict[str, str]:
    """A blog of four topics: a page of each lists its posts, whose links say nothing of it."""
    pages = {HOME: "".join(f"<a href='/tag/{topic}'>{topic}</a> " for topic in TOPICS)}
    for topic in TOPICS:
        posts = "".join(f"<li><a href='/{topic[0]}{n}'>read on</a></li>" for n in range(POSTS))
        pages[f"{HOME}tag/{topic}"] = f"<ul>{posts}</ul>"
        for n in range(POSTS):
            pages[f"{HOME}{topic[0]}{n}"] = (
                f"<title>All about {topic}</title><p>Part {n} of what one should know about {topic}.</p>"
                f"<a rel='tag' href='/tag/{topic}'>{topic}</a>"
            )
    return pages


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> SiteSource:
    folder = tmp_path_factory.mktemp("blog")
    labels = folder / "blog.labels.tsv"
    pages = blog()
    rows = [f"{url}\t{'post' if '<title>' in body else 'list'}" for url, body in pages.items()]
    labels.write_text("url\tpage_type\n" + "\n".join(rows) + "\n")
    return SiteSource([write_warc(folder / "blog.warc.gz", pages)], labels)


@pytest.fixture(scope="module")
def site(sources: SiteSource) -> Iterator[StoredSite]:
    with prepare_site([sources], workers=1, words=Words.COUNTED) as made:
        yield made


@pytest.fixture(scope="module")
def tasks(site: StoredSite) -> list[TagTask]:
    return list(tag_tasks(WantedSite("blog", frozenset({"post"}), 5, 50, TAGS), site))


def test_a_task_is_the_posts_of_a_tag_and_its_query_the_tag(tasks: list[TagTask]) -> None:
    assert sorted(task.tag for task in tasks) == sorted(TOPICS)
    assert all(len(task.pages) == POSTS for task in tasks)
    assert all(task.wanted.queries[0].text == task.tag for task in tasks)


def test_tasks_of_several_sites_are_what_at_least_two_of_them_have(
    sources: SiteSource, tmp_path: Path
) -> None:
    shop = {"http://shop.test/": "<a href='/1'>1</a>"}
    shop["http://shop.test/1"] = "<title>x</title><a rel='tag' href='/t'>Maps</a>"
    labels = tmp_path / "shop.labels.tsv"
    labels.write_text("url\tpage_type\nhttp://shop.test/1\tpost\n")
    parts = [sources, SiteSource([write_warc(tmp_path / "shop.warc.gz", shop)], labels)]
    spec = WantedSite("both", frozenset({"post"}), 5, 50, TAGS, ("blog", "shop"))
    with prepare_site(parts, workers=1, words=Words.COUNTED) as both:
        (task,) = tag_tasks(spec, both)
        assert task.tag == "maps"
        assert len(task.pages) == POSTS + 1
        outcome = Bench(both).run(task, "topic")
    assert outcome.recall[-1] == 1.0


def test_which_half_a_task_is_of_is_its_name_alone(tasks: list[TagTask]) -> None:
    again = {task.tag: TagTask("blog", task.tag, frozenset(), task.wanted).is_judged for task in tasks}
    assert {task.tag: task.is_judged for task in tasks} == again


@pytest.mark.parametrize("order", [name for name in ORDERS if name != "crawl4ai"])
def test_every_order_crawls_a_task(order: str, site: StoredSite, tasks: list[TagTask]) -> None:
    outcome = Bench(site).run(tasks[-1], order)
    assert len(outcome.recall) == len(TIMES)
    assert sorted(outcome.recall) == list(outcome.recall)
    assert 0.0 <= outcome.area <= 1.0


def test_words_find_what_layout_cannot_tell(site: StoredSite, tasks: list[TagTask]) -> None:
    bench = Bench(site)
    at_twice = {name: bench.run(tasks[-1], name).recall[1] for name in ("topic", "harvest", "oracle")}
    assert at_twice["topic"] == at_twice["oracle"] == 1.0
    assert at_twice["harvest"] < 1.0


def test_a_replay_takes_a_query_and_a_tag(sources: SiteSource) -> None:
    relevance = choose_relevance(tag="maps", types=["post"])
    rows = run(
        sources.archives,
        ["topic", "keyword", "breadth_first"],
        relevance=relevance,
        labels=sources.labels,
        budget="20",
        wanted="maps",
    )
    found = {row.policy: row.curve[-1] for row in rows}
    assert found["topic"] == POSTS
    assert found["breadth_first"] < POSTS


def test_a_replay_judges_pages_by_an_embedding_that_knows_other_words(
    sources: SiteSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[str] = []

    def boats(asked: Sequence[str]) -> list[list[float]]:
        texts.extend(asked)
        return [[float("kayaks" in text or "paddle" in text), 0.0] for text in asked]

    monkeypatch.setattr(meaning, "external_embeddings", lambda: {"boats": lambda: boats})

    def found(**wanted: str) -> int:
        relevance = choose_relevance(tag="kayaks", types=["post"])
        asked: dict[str, Any] = {"wanted": "paddle", "budget": "20", **wanted}
        (row,) = run(
            sources.archives, ["topic"], relevance=relevance, labels=sources.labels, seeds=1, **asked
        )
        return row.curve[-1]

    assert found(embedding="boats") > found()
    # The query once, and every page with text once, however many crawls.
    assert texts.count("paddle") == 1
    assert len([text for text in texts if "All about" in text]) == len(TOPICS) * POSTS


@pytest.mark.parametrize("found", [{}, {"boats": lambda: 1 / 0}], ids=["not installed", "fails"])
def test_a_replay_refuses_an_embedding_that_is_not_there(
    sources: SiteSource, monkeypatch: pytest.MonkeyPatch, found: dict[str, Any]
) -> None:
    monkeypatch.setattr(meaning, "external_embeddings", lambda: found)
    with pytest.raises(InvalidInput, match="boats"):
        run(sources.archives, ["topic"], relevance=ByTag("maps"), wanted="maps", embedding="boats")


def test_a_replay_prefers_text_that_reads_well(tmp_path: Path) -> None:
    sentence = "The harbour of {n} was built by hand when the first ships of the valley came home again. "
    rows = "".join(f"<a href='/good/{n}'>{n}</a>" for n in range(12))
    home = f"<div>{rows}</div><p>" + "".join(f"<a href='/poor/{n}'>{n}</a>" for n in range(12)) + "</p>"
    pages = {HOME: home}
    pages |= {f"{HOME}good/{n}": f"<p>{sentence.format(n=n)}{n} more of it. " * 4 for n in range(12)}
    pages |= {f"{HOME}poor/{n}": f"<p>{f'# {n} buy now ' * 40}" for n in range(12)}
    warc = write_warc(tmp_path / "texts.warc.gz", pages)

    def good(**wanted: Any) -> int:
        (row,) = run([warc], ["topic"], relevance=ByUrl("/good/"), budget="13", seeds=1, **wanted)
        return row.curve[-1]

    assert good(quality_weight=1.0) > good(wanted="buy now")


def test_a_suite_says_all_that_is_wanted_in_words(sources: SiteSource, tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    site = f'[[site]]\nwarc = "{sources.archives[0]}"\nwanted_tag = "maps"\n'
    path.write_text(f'wanted = "maps"\nlanguages = ["en"]\nquality_weight = 0.5\n{site}')
    asked = Wanted((WantedQuery("maps"),), languages=("en",), quality_weight=0.5)
    assert read_suite(path).protocol.in_words == asked
    path.write_text(f'languages = ["Klingon"]\n{site}')
    with pytest.raises(InvalidInput) as caught:
        read_suite(path)
    assert [problem.field for problem in caught.value.problems] == ["wanted.languages[0]"]


def test_a_replay_refuses_a_query_without_a_word(sources: SiteSource) -> None:
    with pytest.raises(InvalidInput) as caught:
        run(sources.archives, ["topic"], relevance=ByTag("maps"), wanted="?!")
    assert [problem.field for problem in caught.value.problems] == ["wanted.queries[0].text"]


def test_tags_categories_and_sections_are_carried() -> None:
    catlinks = (
        b"<div id=catlinks><a href='/c'>Ships of  war</a></div><a class='qa-tag-link' href='/t'>c++</a>"
    )
    assert carried_tags("http://a/x", catlinks) == {"Ships of war", "c++"}
    assert carried_tags("http://a/en/cpp/atomic/load.html", b"", ["section"]) == {"atomic"}
    assert carried_tags("http://a/x", catlinks, [TAGS]) == {"c++"}


def test_a_tag_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="must be a tag"):
        ByTag(" ")


@pytest.mark.parametrize("spec", SITES, ids=lambda spec: spec.name)
def test_archives_are_found_by_the_names_of_a_site_and_its_parts(spec: WantedSite, tmp_path: Path) -> None:
    names = spec.parts or (spec.name,)
    assert stored_tasks.sources(spec, [tmp_path]) is None
    for name in names:
        (tmp_path / f"{name}.warc.gz").touch()
        (tmp_path / f"{name}.labels.tsv.gz").touch()
    found = stored_tasks.sources(spec, [tmp_path])
    assert found is not None
    assert [source.archives for source in found] == [[tmp_path / f"{name}.warc.gz"] for name in names]
