"""The URLs of one crawl: order, leases, pace, counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from linkscore_frontier.store import Arrival, CrawlStore, Place, State, Status

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
    asked = {"queues": 0, "each": 0, "lease_s": 60, "delay": 1, **options}
    return " ".join(given.url.rpartition("/")[2] for given in store.take(now=now, **asked))


def test_what_linkscore_said_nothing_about_goes_out_in_the_order_it_came(store: CrawlStore) -> None:
    store.put([link("b"), link("a"), link("c")], NOW)
    assert take(store) == "b a c"


def test_better_buckets_go_first_and_the_unknown_last(store: CrawlStore) -> None:
    store.put([link("u", ""), link("n"), link("low", "l", 0.2, 0.2), link("high", "h", 0.9, 0.9)], NOW)
    assert take(store) == "high low n u"


def test_within_a_bucket_the_better_own_part_goes_first(store: CrawlStore) -> None:
    store.put([link("a", "x", 0.5), link("b", "x", 0.6), link("c", "x", 0.6)], NOW)
    assert take(store) == "b c a"


def test_buckets_are_valued_anew(store: CrawlStore) -> None:
    store.put([link("a", "x", 0.5), link("b", "y", 0.5, 0.4)], NOW)
    assert store.waiting_buckets == ["x", "y"]
    store.revalue({"x": 0.1, "y": 0.8})
    assert take(store) == "b a"


def test_a_url_found_again_waits_in_further_buckets_and_is_given_once(store: CrawlStore) -> None:
    store.put([link("a", "low", 0.1, 0.1), link("b", "mid", 0.5, 0.5)], NOW)
    assert store.put([link("a", "high", 0.9, 0.9)], NOW) == [Status.SKIPPED]
    assert take(store, each=1) == "a"
    assert store.waiting_buckets == ["mid"]


def test_a_url_waits_in_four_buckets_at_most(store: CrawlStore) -> None:
    for n in range(6):
        store.put([link("a", f"b{n}")], NOW)
    assert store.waiting_buckets == ["b0", "b1", "b2", "b3"]


def test_a_lease_runs_out_and_its_url_goes_first_among_its_equals(store: CrawlStore) -> None:
    store.put([link("a"), link("b")], NOW)
    assert take(store, each=1, lease_s=30) == "a"
    assert take(store, NOW + 29, each=0) == "b"
    store.put([link("c")], NOW + 29)
    assert take(store, NOW + 31, each=2) == "a c"


def test_a_fetched_url_is_done_unless_it_has_a_date(store: CrawlStore) -> None:
    store.put([link("a"), link("b")], NOW)
    take(store)
    a, b = link("a"), link("b")
    a.is_known = b.is_known = True
    b.due = int(NOW) + 100
    assert store.put([a, b], NOW) == [Status.OK, Status.OK]
    assert store.put([link("a"), link("b")], NOW) == [Status.SKIPPED, Status.SKIPPED]
    assert take(store, NOW + 99) == ""
    assert take(store, NOW + 100) == "b"
    assert store.queues["a.org"].states == {
        State.DONE: 1,
        State.LEASED: 1,
        State.LATER: 0,
        State.WAITING: 0,
    }


def test_known_urls_go_out_by_their_dates(store: CrawlStore) -> None:
    later, sooner = link("later"), link("sooner")
    later.is_known = sooner.is_known = True
    later.due, sooner.due = int(NOW), int(NOW) - 500
    store.put([later, sooner], NOW)
    assert take(store) == "sooner later"


def test_a_queue_rests_between_two_gifts(store: CrawlStore) -> None:
    store.put([link("a"), link("b"), link("c")], NOW)
    assert take(store, each=1) == "a"
    assert take(store, NOW + 0.9, each=2) == ""
    assert take(store, NOW + 1, each=2) == "b c"
    store.set_queue("a.org", "delay", 10)
    store.put([link("d")], NOW)
    assert take(store, NOW + 10.9) == ""
    assert take(store, NOW + 11) == "d"


def test_a_queue_has_no_more_under_way_than_is_asked_for(store: CrawlStore) -> None:
    store.put([link("a"), link("b"), link("c")], NOW)
    assert take(store, each=2) == "a b"
    assert take(store, NOW + 5, each=2) == ""
    done = link("a")
    done.is_known = True
    store.put([done], NOW)
    assert take(store, NOW + 5, each=2) == "c"


def test_the_queues_with_the_best_urls_give_first(store: CrawlStore) -> None:
    store.put([link("a", "x", 0.2, 0.2), link("b", "y", 0.9, 0.9, key="b.org"), link("c", key="c.org")], NOW)
    assert take(store, queues=2, each=1) == "b a"


def test_a_blocked_queue_gives_nothing_until_its_time(store: CrawlStore) -> None:
    store.put([link("a")], NOW)
    store.set_queue("a.org", "blocked", int(NOW) + 50)
    assert take(store, NOW + 50) == ""
    assert take(store, NOW + 51) == "a"


def test_a_queue_stops_at_its_limit(store: CrawlStore) -> None:
    done = link("a")
    done.is_known = True
    store.put([done, link("b")], NOW)
    store.set_queue("a.org", "most", 1)
    assert take(store) == ""
    store.set_queue("a.org", "most", 2)
    assert take(store) == "b"


def test_new_urls_are_placed_when_linkscore_answers(store: CrawlStore) -> None:
    store.put([link("a"), link("b"), link("c")], NOW)
    numbers = {url.rpartition("/")[2]: number for number, url, _ in store.unscored(10)}
    store.place([(numbers["b"], [Place("x", 0.9, 0.9)]), (numbers["a"], [])])
    assert [url for _, url, _ in store.unscored(10)] == ["http://a.org/c"]
    assert take(store) == "b c a"
    store.place([(numbers["c"], [Place("x", 0.9, 0.9)])])  # given meanwhile
    assert store.waiting_buckets == []


def test_everything_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    store = CrawlStore(tmp_path / "d.sqlite")
    failed = link("gone")
    failed.is_known, failed.failed_status, failed.ticket = True, 404, b"t"
    store.put([link("a", "x", 0.9, 0.9), link("b", "y", 0.1, 0.1), link("c"), failed], NOW)
    assert take(store, each=1) == "a"
    store.set_queue("a.org", "delay", 7)
    before = store.queues
    store.close()
    again = CrawlStore(tmp_path / "d.sqlite")
    assert {key: (q.waiting, +q.states, q.delay, q.given) for key, q in again.queues.items()} == {
        key: (q.waiting, +q.states, q.delay, q.given) for key, q in before.items()
    }
    (failure,) = again.unreported(5)
    assert (failure.url, failure.status, failure.ticket) == ("http://a.org/gone", 404, b"t")
    again.reported([failure])
    assert again.unreported(5) == []
    assert again.failures == 0
    assert take(again, NOW + 7) == "b c"
    again.close()


def test_a_write_that_fails_changes_nothing(store: CrawlStore) -> None:
    store.put([link("a", "x")], NOW)
    broken = link("c", "z")
    broken.url = None  # type: ignore[assignment]
    broken.key = 3j  # type: ignore[assignment]
    with pytest.raises(Exception, match="supported"):
        store.put([link("b", "y"), broken], NOW)
    assert store.waiting_buckets == ["x"]
    assert store.count() == 1
    assert take(store) == "a"


def test_queues_and_old_urls_are_deleted_with_all_they_hold(store: CrawlStore) -> None:
    store.put([link("a", "x"), link("b", key="b.org"), link("c", key="b.org")], NOW)
    store.put([link("d", "y", key="d.org")], NOW + 100)
    assert store.delete_queue("b.org") == 2
    assert store.delete_queue("b.org") == 0
    assert store.purge(int(NOW) + 50) == 1
    assert store.waiting_buckets == ["y"]
    assert take(store, NOW + 100) == "d"


def test_lists_are_cut_and_filtered(store: CrawlStore) -> None:
    store.put([link("a"), link("B"), link("b", key="b.org"), link("c")], NOW)

    def names(**asked: object) -> str:
        return " ".join(one.url.rpartition("/")[2] for one in store.list_urls(after=0, most=10, **asked))  # type: ignore[arg-type]

    assert names() == "a B b c"
    assert names(skip=1) == "B b c"
    assert names(key="b.org") == "b"
    assert names(text="/b") == "b"
    assert names(text="/b", fold=True) == "B b"
    assert store.count(text="/b", fold=True) == 2
    assert store.count(key="nowhere") == 0
    found = store.find("a.org", "http://a.org/c")
    assert found is not None
    assert (found.state, found.due, found.created) == (State.WAITING, int(NOW), int(NOW))
