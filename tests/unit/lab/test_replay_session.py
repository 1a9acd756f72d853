"""Whole comparisons of small stored sites, in process; bad ones refused.

Replays for what is wanted in words: a query, a tag, text that reads well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from linkscore_lab.archives import write_warc
from linkscore_lab.commands import replay
from linkscore_lab.datasets.site import ByType, ByUrl
from linkscore_lab.replay import run as replayed
from linkscore_lab.replay.prepare import SiteSource
from linkscore_lab.replay.results import RunResult
from linkscore_lab.replay.runs import ReplayProtocol, read_policy
from linkscore_lab.replay.session import Progress, ReplaySession, session_of
from linkscore_scoring.errors import InvalidInput
from support.replay_sites import page, shop, write_site


class Heard(Progress):
    """Remembers what was said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def said(self, line: str) -> None:
        self.lines.append(line)


def shop_of(folder: Path, *policies: str, **options: Any) -> ReplaySession:
    warc, labels = shop(folder)
    given = {"relevance": ByType(["item"]), "workers": 1} | options
    return ReplaySession(SiteSource([warc], labels), list(map(read_policy, policies)), **given)


def run(session: ReplaySession) -> list[RunResult]:
    return list(session.run())


def test_a_run_says_what_was_crawled_and_how_well(tmp_path: Path) -> None:
    (found,) = run(shop_of(tmp_path, "breadth_first"))
    assert (found.site, found.task, found.mode, found.policy) == (
        "shop.test",
        "user_content",
        "none",
        "breadth_first",
    )
    assert (found.budget, found.fetched, found.n_reachable, found.n_wanted) == (7, 7, 29, 24)
    assert found.curve == [0, 0, 0, 0, 0, 1, 2]
    assert found.metrics["valid_ratio"] == pytest.approx(2 / 7)
    assert found.start == "http://shop.test/"


def test_runs_are_the_same_on_one_core_and_on_several(tmp_path: Path) -> None:
    one, two = (
        run(shop_of(tmp_path, "uniform_random", "harvest", seeds=3, workers=workers)) for workers in (1, 2)
    )
    assert [r.order_digest for r in one] == [r.order_digest for r in two]
    assert [(r.policy, r.seed) for r in one] == [
        (p, s) for p in ("uniform_random", "harvest") for s in (1, 2, 3)
    ]
    assert len({r.order_digest for r in one[:3]}) > 1


def test_oracles_run_beside_policies(tmp_path: Path) -> None:
    ratios = [r.metrics["valid_ratio"] for r in run(shop_of(tmp_path, "breadth_first", "oracle_greedy"))]
    assert ratios == [pytest.approx(2 / 7), pytest.approx(5 / 7)]


def test_a_target_task_has_as_many_fetches_as_pages_and_gives_an_example_away(tmp_path: Path) -> None:
    policies = "breadth_first", "source_target"
    plain, with_example = run(shop_of(tmp_path, *policies, relevance=None, targets=("item",)))
    assert (plain.task, plain.budget, plain.n_wanted) == ("target:item", 24, 24)
    assert (with_example.budget, with_example.n_wanted) == (24, 23)
    assert (plain.n_examples, with_example.n_examples) == (0, 1)


def test_examples_are_not_counted(tmp_path: Path) -> None:
    (found,) = run(shop_of(tmp_path, "breadth_first", modes=("examples",)))
    assert (found.mode, found.n_wanted, found.n_examples) == ("examples", 21, 3)


def test_what_needs_an_example_is_left_out_where_there_is_none(tmp_path: Path) -> None:
    heard = Heard()
    session = shop_of(tmp_path, "source_target", "breadth_first", progress=heard)
    assert [found.policy for found in run(session)] == ["breadth_first"]
    assert "left out: source_target, user_content, none: needs an example page" in heard.lines[1]


def test_pages_with_text_of_their_own_are_wanted_of_a_site_nobody_says_anything_about(tmp_path: Path) -> None:
    """Items have some 460 characters each; a list that shows the beginning of all of them owns none of it."""
    items = {
        f"/item/{n}": f"number {n} has a text of its own, which goes on for a while " * 8 for n in range(5)
    }
    pages = {"/": page(["/list"])}
    pages["/list"] = page(list(items)) + "".join(f"<p>{text}</p>" for text in items.values())
    pages |= {url: page(["/"], text) for url, text in items.items()}
    warc = write_site(tmp_path / "shop.warc.gz", "shop.test", pages)
    policies = [read_policy("breadth_first"), read_policy("oracle_greedy")]
    found = run(ReplaySession(SiteSource([warc]), policies, workers=1))
    assert {(r.task, r.n_reachable, r.n_wanted) for r in found} == {("new_text", 7, 5)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"modes": ["loud"]}, "must be among none, examples"),
        ({"seeds": 0}, "seeds: must be at least 1, got 0"),
        ({"protocol": ReplayProtocol(delay=-1)}, "delay: must be >= 0"),
    ],
)
def test_what_cannot_be_run_is_refused_by_its_name(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        shop_of(tmp_path, "breadth_first", **options)


def test_options_win_over_what_a_replay_does_by_itself(tmp_path: Path) -> None:
    warc, labels = shop(tmp_path)
    given = [
        "--relevant",
        "item, list",
        "--examples",
        "2",
        "--feedback",
        "--seeds",
        "3",
        "--target-type",
        "item",
    ]
    given += ["--policy", "opic", "--policy", "harvest:exploration=0.5", "--bound", "max_fetches=9"]
    context = replay.make_context("replay", [str(warc), "--labels", str(labels), *given])
    session = session_of(context.params)
    assert isinstance(session.relevance, ByType)
    assert session.relevance.types == {"item", "list"}
    assert (session.targets, session.modes, session.seeds) == (("item",), ("examples", "feedback"), 3)
    assert [(p.name, p.params) for p in session.policies] == [("opic", {}), ("harvest", {"exploration": 0.5})]
    assert (session.protocol.n_examples, session.protocol.budget) == (2, "25%")
    assert session.protocol.limits == {"budget": {"max_fetches": 9}}


def test_parameters_of_a_policy_are_json_or_text() -> None:
    policy = read_policy("source_target:alpha=0.5,multi_hop=false,example_url=http://s.test/?a=b")
    assert policy.params == {"alpha": 0.5, "multi_hop": False, "example_url": "http://s.test/?a=b"}
    assert policy.text.startswith("source_target:alpha")


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


def tagged_blog(folder: Path) -> SiteSource:
    """Store the blog and its labels in a folder."""
    labels = folder / "blog.labels.tsv"
    pages = blog()
    rows = [f"{url}\t{'post' if '<title>' in body else 'list'}" for url, body in pages.items()]
    labels.write_text("url\tpage_type\n" + "\n".join(rows) + "\n")
    return SiteSource([write_warc(folder / "blog.warc.gz", pages)], labels)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> SiteSource:
    return tagged_blog(tmp_path_factory.mktemp("blog"))


def test_a_replay_takes_a_query(sources: SiteSource) -> None:
    relevance = ByUrl(r"/m\d")
    rows = replayed(
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
