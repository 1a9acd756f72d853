"""Stored sites: identity, redirects, what is reachable and what a crawl may ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscore_lab.datasets.labels import read_labels, read_page_types
from linkscore_lab.datasets.survey import survey_site
from linkscore_lab.datasets.warc_site import WarcSite
from linkscore_scoring.errors import InvalidInput


@pytest.fixture
def site(warc: Path, labels: Path):
    site = WarcSite(warc, labels)
    yield site
    site.close()


def test_the_first_record_is_the_entry(site: WarcSite) -> None:
    assert site.entry == "https://s.test/"


def test_a_url_is_found_by_identity_and_its_first_record_counts(site: WarcSite) -> None:
    assert site.respond("https://s.test/b?y=2&x=1#frag").body.startswith(b'<a href="/none">')


def test_an_unknown_or_broken_url_is_a_404(site: WarcSite) -> None:
    assert [site.respond(url).status for url in ("https://s.test/none", "http://[")] == [404, 404]


def test_a_redirect_record_answers_as_a_redirect(site: WarcSite) -> None:
    reply = site.respond("https://s.test/old")
    assert (reply.status, reply.headers["Location"]) == (301, "/new")


def test_known_holds_records_but_no_redirect_out_of_the_archive(site: WarcSite) -> None:
    paths = sorted(key.removeprefix("https://s.test") for key in site.known())
    assert paths == ["/", "/b?x=1&y=2", "/island", "/new", "/old"]


def test_reachable_pages_follow_nofollow_and_redirects(site: WarcSite) -> None:
    assert list(survey_site(site).pages) == [
        "https://s.test/",
        "https://s.test/b?x=1&y=2",
        "https://s.test/new",
    ]


def test_labels_are_matched_by_identity(site: WarcSite) -> None:
    assert survey_site(site).of_types(["thread"]) == {"https://s.test/b?x=1&y=2"}


def test_an_archive_without_responses_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.warc"
    empty.write_bytes(b"")
    with pytest.raises(InvalidInput, match="needs at least one response record"):
        WarcSite(empty)


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<html>" * 100)
    with pytest.raises(InvalidInput, match="must be a WARC file"):
        WarcSite(page)


def test_labels_without_page_type_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text("url\tkind\nhttp://s.test/\thome\n")
    with pytest.raises(InvalidInput, match="column page_type missing"):
        read_labels(path)


def test_page_types_say_what_is_user_content_and_a_target(tmp_path: Path) -> None:
    path = tmp_path / "page_types.tsv"
    path.write_text("site\tpage_type\tuser_content\ttarget\ns\tthread\t1\t0\ns\ttag\t0\t1\n")
    types = read_page_types(path)["s"]
    assert [(t.name, t.user_content, t.target) for t in types] == [
        ("thread", True, False),
        ("tag", False, True),
    ]
