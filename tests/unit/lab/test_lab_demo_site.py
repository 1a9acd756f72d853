"""The demonstration site: large, labelled, repeatable, and as awkward as a real one."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from linkscore_lab.datasets.demo_site import USER_CONTENT, DemoSite
from linkscore_lab.datasets.survey import read_page
from linkscore_lab.replay.prepare import prepare_generated


@pytest.fixture(scope="module")
def small() -> DemoSite:
    return DemoSite(3, n_threads=40, n_members=20)


def urls(site: DemoSite, kind: str) -> list[str]:
    return [url for url, label in site.labels().items() if label == kind]


def test_the_bundled_size_has_thousands_of_urls_linked_from_each_other() -> None:
    kinds = [kind for kind in DemoSite().labels().values() if kind != "thread_permalink"]
    assert len(kinds) >= 3000


def test_every_labelled_page_but_unlinked_permalinks_can_be_reached(small: DemoSite) -> None:
    with prepare_generated(small) as stored:
        reached = {stored.records[n].key for n in stored.reachable()}
    assert reached <= small.labels().keys()
    assert {kind for url, kind in small.labels().items() if url not in reached} <= {"thread_permalink"}
    assert 0.02 < sum(small.labels()[key] in USER_CONTENT for key in reached) / len(reached) < 0.5


def test_the_same_seed_gives_the_same_bytes(small: DemoSite) -> None:
    url = urls(small, "thread")[0]
    again = DemoSite(3, n_threads=40, n_members=20)
    assert small.respond(url).body == again.respond(url).body


def test_another_seed_gives_another_site(small: DemoSite) -> None:
    assert urls(small, "thread") != urls(DemoSite(4, n_threads=40, n_members=20), "thread")


def test_a_permalink_is_a_copy_that_names_its_page(small: DemoSite) -> None:
    permalink = urls(small, "thread_permalink")[0]
    thread = permalink.split("?")[0]
    assert small.respond(permalink).body == small.respond(thread).body
    assert read_page(permalink, small.respond(permalink).body).content == f"canonical {thread}"


def test_threads_share_no_post_by_chance(small: DemoSite) -> None:
    pages = urls(small, "thread") + urls(small, "thread_page")
    blocks = [block for url in pages for block in set(read_page(url, small.respond(url).body).blocks)]
    posts = [digest for digest, length in blocks if length > 100]
    assert len(posts) == len(set(posts)) > 100


def test_templates_vary_in_their_classes(small: DemoSite) -> None:
    bodies = [small.respond(url).body for url in urls(small, "thread")]
    looks = {
        css for css in (b'"posts"', b'"answers"', b'"shots"', b'"posts withpoll"') for b in bodies if css in b
    }
    assert len(looks) >= 3


@pytest.mark.parametrize(
    "path",
    ["/t/1-not-the-title", "/t/99999-x", "/u/nobody", "/board/none", "/tag/none?page=1", "/members?page=99",
     "/members?page=x", "/calendar/1999-01", "/help/none", "/search?q=none", "/nowhere", "//"],
)  # fmt: skip
def test_what_does_not_exist_is_a_404(small: DemoSite, path: str) -> None:
    assert small.page(path).status == 404


def test_the_calendar_ends(small: DemoSite) -> None:
    last = small.page("/calendar/2026-12")
    assert b"/calendar/2027" not in last.body


def test_labels_belong_to_the_origin_it_is_served_at() -> None:
    site = DemoSite(1, "http://127.0.0.1:8080", n_threads=10, n_members=5)
    assert {urlsplit(url).netloc for url in site.labels()} == {"127.0.0.1:8080"}
