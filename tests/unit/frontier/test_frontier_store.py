"""The URLs of one crawl: order, leases, pace, counts.

`linkscore frontier` names a file that it cannot use, and starts nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from linkscore.frontier import Place
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2
from linkscore_frontier.store import Arrival, CrawlStore, Question, State, Wish
from linkscore_frontier.urlfrontier_pb2 import AckMessage
from support.command_line import run

NOW = 1_000.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CrawlStore]:
    opened = CrawlStore(tmp_path / "c.sqlite")
    yield opened
    opened.close()


def link(
    name: str, bucket: str | None = None, score: float = 0.5, value: float = 0.5, key: str = "a.org"
) -> Arrival:
    places = None if bucket is None else [Place(bucket, score, value)] if bucket else []
    return Arrival(f"http://{key}/{name}", key, places=places)


def take(store: CrawlStore, now: float = NOW, **options: int) -> str:
    """Names of the URLs that are given: as many as may be, unless said otherwise."""
    return " ".join(given.url.rpartition("/")[2] for given in store.take(Wish(**options), now))


def question(store: CrawlStore, now: float = NOW, **options: int) -> Question:
    asked = store.question(Wish(**options), now)
    assert asked is not None
    return asked


def waiting(store: CrawlStore) -> list[str]:
    """Buckets of linkscore in which URLs wait that may go now."""
    asked = store.question(Wish(delay=0), NOW)
    return [] if asked is None else list(asked.waiting)


def answer(store: CrawlStore, asked: Question, **given: tuple[float, int]) -> None:
    """Answer with the value of each bucket and how many of its links may go."""
    best = sorted(given, key=lambda name: -given[name][0])
    ranked = scoring_pb2.RankBucketsResponse(
        order=[list(asked.waiting).index(name) for name in best],
        values=[given[name][0] for name in best],
        urls=[given[name][1] for name in best],
    )
    store.answered(asked, ranked)


def fetched(name: str, **options: str) -> Arrival:
    done = link(name, **options)
    done.is_known = True
    return done


def test_a_lease_runs_out_and_its_url_goes_first_among_its_equals(store: CrawlStore) -> None:
    store.put([link("a"), link("b")], NOW)
    assert take(store, each=1, lease_s=30) == "a"
    assert take(store, NOW + 29, each=0) == "b"
    store.put([link("c")], NOW + 29)
    assert take(store, NOW + 31, each=3) == "a c"


def test_a_fetched_url_is_done_unless_it_has_a_date(store: CrawlStore) -> None:
    store.put([link("a"), link("b")], NOW)
    take(store)
    a, b = link("a"), link("b")
    a.is_known = b.is_known = True
    b.due = int(NOW) + 100
    assert store.put([a, b], NOW) == [AckMessage.OK, AckMessage.OK]
    assert store.put([link("a"), link("b")], NOW) == [AckMessage.SKIPPED, AckMessage.SKIPPED]
    assert take(store, NOW + 99) == ""
    assert take(store, NOW + 100) == "b"
    assert store.queues["a.org"].states == {
        State.DONE: 1,
        State.LEASED: 1,
        State.LATER: 0,
        State.WAITING: 0,
    }


def test_the_queues_with_the_best_urls_give_first(store: CrawlStore) -> None:
    store.put([link("a", "x", 0.2, 0.2), link("b", "y", 0.9, 0.9, key="b.org"), link("c", key="c.org")], NOW)
    assert take(store, queues=2, each=1) == "b a"


def test_linkscore_is_told_what_waits_what_is_under_way_and_how_many_places_there_are(
    store: CrawlStore,
) -> None:
    store.put([link(f"x{n}", "x") for n in range(3)] + [link("y", "y", 0.1, 0.1), link("new")], NOW)
    store.put([link("z", "z", key="b.org")], NOW)
    store.set_queue("b.org", "blocked", int(NOW) + 9)
    assert question(store, each=2, queues=5) == Question({"x": 3, "y": 1}, {}, places=2, fill=False)
    assert take(store, each=2) == "x0 x1"
    later = NOW + 10
    assert question(store, later, each=3, queues=5).places == 4  # one more of its queue, three of the other
    assert question(store, later, queues=2).under_way == {"x": 2}
    assert question(store, later).waiting == {"x": 1, "y": 1, "z": 1}
    store.put([fetched("x0")], later)
    assert question(store, later).under_way == {"x": 1}
    assert question(store, NOW + 61).under_way == {}  # the lease ran out


def test_links_are_given_as_they_are_handed_out_and_places_stay_empty_until_a_fetch_is_done(
    store: CrawlStore,
) -> None:
    store.put([link("x0", "x"), link("x1", "x"), link("y0", "y"), link("y1", "y"), link("u", "")], NOW)
    answer(store, question(store), x=(0.9, 1), y=(0.8, 1))
    assert take(store, delay=0) == "x0 y0"
    assert take(store, delay=0) == ""
    assert store.question(Wish(delay=0), NOW) is None  # nothing is new
    store.put([fetched("x0")], NOW)
    answer(store, question(store, delay=0), x=(0.9, 0), y=(0.8, 1))
    assert take(store, delay=0) == "y1"
    store.put([fetched("y0"), fetched("y1")], NOW)
    assert take(store, delay=0) == "x1"  # nothing is under way: one goes in any case
    store.put([fetched("x1")], NOW)
    assert store.question(Wish(delay=0), NOW) is None  # of what waits linkscore knows nothing
    assert take(store, delay=0) == "u"


def test_without_linkscore_all_places_are_filled(store: CrawlStore) -> None:
    store.put([link("x0", "x"), link("x1", "x"), link("y", "y")], NOW)
    asked = question(store)
    answer(store, asked, x=(0.9, 1), y=(0.8, 0))
    assert take(store, delay=0) == "x0"
    store.answered(asked, None)
    assert take(store, delay=0) == "x1 y"


def test_a_crawl_whose_pages_linkscore_never_sees_has_all_places_filled(store: CrawlStore) -> None:
    store.put([link("a"), link("b")], NOW)
    store.place([(number, [Place("x", 0.5, 0.5)]) for number, _, _ in store.unscored(10)])
    assert question(store).fill
    store.put([link("c", "x")], NOW)
    assert not question(store).fill


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.sqlite"
    CrawlStore(path).close()
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA user_version = 9")
    with pytest.raises(sqlite3.DatabaseError, match="of format 9, this linkscore reads 3"):
        CrawlStore(path)


def test_a_crawl_that_has_stopped_gives_nothing_until_it_goes_on(store: CrawlStore) -> None:
    store.put([link("a", "l", 0.2, 0.2), link("b", "l", 0.2, 0.2)], NOW)
    stop = scoring_pb2.RankBucketsResponse(
        order=[0], values=[0.0], urls=[0], decision=common_pb2.DECISION_STOP_BUDGET
    )
    store.answered(question(store, delay=0), stop)
    assert take(store) == ""
    answer(store, question(store, delay=0), l=(0.2, 1))
    assert take(store) == "a"


def away(store: CrawlStore) -> None:
    store.answered(question(store, delay=0), None)


def test_new_urls_wait_with_those_of_their_shape_while_linkscore_is_away(store: CrawlStore) -> None:
    store.put([link("tag/1", "tags", 0.2, 0.2), link("q/1", "questions", 0.9, 0.9)], NOW)
    away(store)
    store.put([link("tag/2"), link("elsewhere/deep/x"), link("q/2"), link("q/3", "questions", 0.8, 0.9)], NOW)
    assert take(store) == "1 3 2 1 2 x"
    assert [url for _, url, _ in store.unscored(10)] == []


def test_what_was_guessed_is_scored_when_linkscore_is_back(store: CrawlStore) -> None:
    store.put([link("q/1", "questions", 0.9, 0.9)], NOW)
    away(store)
    store.put([link("q/2"), link("q/3")], NOW)
    assert store.new == 2
    found = store.unscored(10)
    assert [url.rpartition("/")[2] for _, url, _ in found] == ["2", "3"]
    store.place([(found[0][0], [Place("low", 0.1, 0.1)]), (found[1][0], [Place("high", 0.95, 0.95)])])
    assert (store.new, store.queues["a.org"].waiting.total()) == (0, 3)
    assert take(store) == "3 1 2"


def test_urls_that_a_setting_forbids_are_done_with(store: CrawlStore) -> None:
    store.put([link("a"), link("b"), link("c")], NOW)
    numbers = {url.rpartition("/")[2]: number for number, url, _ in store.unscored(10)}
    store.place([(numbers["b"], [Place("x", 0.9, 0.9)]), (numbers["a"], [])], dropped=[numbers["c"]])
    assert (store.new, store.count(State.DONE)) == (0, 1)
    assert store.put([link("c")], NOW) == [AckMessage.SKIPPED]
    assert take(store) == "b a"


@pytest.mark.parametrize(
    ("words", "said", "content"),
    [
        ("--target-token-file {}", "'{}' has no token: it must be printable ASCII", b"\xcc\xfe\n"),
        ("--target-tls-ca {}", "--target-tls-ca: no certificate in '{}'", b"no PEM"),
        ("--target http://localhost:7411", "--target: must be host:port without a scheme", b""),
        ("--tls-cert {} --tls-key {}", "{} and {} must be a certificate and its key in PEM", b"\xcc\xfe"),
    ],
)
def test_a_wrong_option_is_named_before_anything_starts(
    words: str, said: str, content: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    got = run("frontier", *words.replace("{}", str(file)).split())
    assert (got.exit_code, got.output.count("\n")) == (2, 1), got.output
    assert said.replace("{}", str(file)) in got.output


def test_urls_are_counted_while_queues_come(store: CrawlStore) -> None:
    """Prometheus asks in a thread of its own."""

    class Asked:
        def __hash__(self) -> int:
            store.put([link("2", key="b.org")], NOW)
            return hash(State.WAITING)

        def __eq__(self, other: object) -> bool:
            return other is State.WAITING

    store.put([link("1")], NOW)
    assert store.count(Asked()) == 1  # type: ignore[arg-type]
    assert store.count(State.WAITING) == 2
