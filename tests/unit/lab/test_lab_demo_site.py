"""The demonstration site: large, labelled, repeatable, and as awkward as a real one."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from linkscore_lab.datasets.demo_site import USER_CONTENT, DemoSite
from linkscore_lab.replay.prepare import prepare_generated


@pytest.fixture(scope="module")
def small() -> DemoSite:
    return DemoSite(3, n_threads=40, n_members=20)


def test_the_bundled_size_has_thousands_of_urls_linked_from_each_other() -> None:
    kinds = [kind for kind in DemoSite().labels().values() if kind != "thread_permalink"]
    assert len(kinds) >= 3000


def test_every_labelled_page_but_unlinked_permalinks_can_be_reached(small: DemoSite) -> None:
    with prepare_generated(small) as stored:
        reached = {stored.records[n].key for n in stored.reachable()}
    assert reached <= small.labels().keys()
    assert {kind for url, kind in small.labels().items() if url not in reached} <= {"thread_permalink"}
    assert 0.02 < sum(small.labels()[key] in USER_CONTENT for key in reached) / len(reached) < 0.5


@pytest.mark.parametrize(
    "path",
    ["/t/1-not-the-title", "/t/99999-x", "/u/nobody", "/board/none", "/tag/none?page=1", "/members?page=99",
     "/members?page=x", "/calendar/1999-01", "/help/none", "/search?q=none", "/nowhere", "//"],
)  # fmt: skip
def test_what_does_not_exist_is_a_404(small: DemoSite, path: str) -> None:
    assert small.page(path).status == 404


def test_labels_belong_to_the_origin_it_is_served_at() -> None:
    site = DemoSite(1, "http://127.0.0.1:8080", n_threads=10, n_members=5)
    assert {urlsplit(url).netloc for url in site.labels()} == {"127.0.0.1:8080"}
