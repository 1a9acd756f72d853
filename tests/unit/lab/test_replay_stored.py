"""A stored site made ready: identities, redirects, errors, reachable pages, what was damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscore_lab.datasets.survey import survey_site
from linkscore_lab.datasets.warc_site import WarcSite
from linkscore_lab.replay.prepare import SiteSource, digest_of, prepare_site
from linkscore_scoring.errors import InvalidInput
from support.replay_sites import page, shop, write_site


def test_it_reaches_the_pages_a_survey_reaches_in_the_same_order(warc: Path, labels: Path) -> None:
    stored = WarcSite(warc, labels)
    with prepare_site([SiteSource([warc], labels)], workers=1) as site:
        keys = [site.records[n].key for n in site.reachable()]
        assert keys == list(survey_site(stored).pages)
        stored.close()


def test_facts_are_those_of_the_survey(tmp_path: Path) -> None:
    warc, labels = shop(tmp_path)
    stored = WarcSite(warc, labels)
    with prepare_site([SiteSource([warc], labels)], workers=2) as site:
        surveyed = survey_site(stored).pages
        assert {site.records[n].key: site.records[n].facts for n in site.reachable()} == surveyed
        stored.close()


def test_of_two_records_with_one_identity_the_first_counts(warc: Path) -> None:
    with prepare_site([SiteSource([warc])], workers=1) as site:
        assert site.body(site.number("https://s.test/b?x=1&y=2")).startswith(b'<a href="/none">')


def test_a_redirect_ends_at_its_page_or_nowhere(warc: Path) -> None:
    with prepare_site([SiteSource([warc])], workers=1) as site:
        assert site.number("https://s.test/old") == site.number("https://s.test/new") >= 0
        assert site.number("https://s.test/astray") == site.number("https://s.test/none") == -1


def test_redirects_in_a_circle_end(tmp_path: Path) -> None:
    warc = write_site(tmp_path / "c.warc.gz", "c.test", {"/": page(["/x"])}, {"/x": "/y", "/y": "/x"})
    with prepare_site([SiteSource([warc])], workers=1) as site:
        assert [site.records[n].key for n in site.reachable()] == ["http://c.test/"]


def test_several_sites_become_one_crawl_with_an_entry_each(tmp_path: Path) -> None:
    sources = [
        SiteSource([warc], labels)
        for warc, labels in (shop(tmp_path, "a.test", 2), shop(tmp_path, "b.test", 3))
    ]
    with prepare_site(sources, workers=1) as site:
        assert site.name == "a.test+b.test"
        assert site.entries == ["http://a.test/", "http://b.test/"]
        assert len(site.reachable()) == (5 + 4) + (5 + 6)
        assert site.types["http://b.test/item/1-0"] == "item"


def test_the_digest_is_that_of_the_files(tmp_path: Path) -> None:
    warc, _ = shop(tmp_path)
    before = digest_of([warc])
    warc.write_bytes(warc.read_bytes() + b"x")
    assert digest_of([warc]) != before


def test_an_archive_without_pages_is_refused(tmp_path: Path) -> None:
    warc = write_site(tmp_path / "e.warc.gz", "e.test", {}, {"/": "/x"})
    with pytest.raises(InvalidInput, match="needs at least one page, got 1 records"):
        prepare_site([SiteSource([warc])], workers=1)
