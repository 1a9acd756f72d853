"""A stored site made ready: identities, redirects, errors, reachable pages, what was damaged.

Counts of a log file without a server: the busiest site and its whole log, unless told otherwise.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscore_lab.datasets.site import read_labels
from linkscore_lab.replay.browse_log import read_counts
from linkscore_lab.replay.prepare import SiteSource, prepare_site
from linkscore_scoring.errors import InvalidInput
from support.replay_sites import shop, write_site


def test_it_answers_as_the_site_did_by_identity_and_reaches_what_links_and_redirects_lead_to(
    warc: Path, labels: Path
) -> None:
    with prepare_site([SiteSource([warc], labels)], workers=1) as site:
        assert [site.records[n].key.removeprefix("https://s.test") for n in site.reachable()] == [
            "/",
            "/b?x=1&y=2",
            "/new",
        ]
        assert (site.entry, site.labels()["https://s.test/b?x=1&y=2"]) == ("https://s.test/", "thread")
        assert site.respond("https://s.test/b?y=2&x=1#frag").body.startswith(b'<a href="/none">')
        moved = site.respond("https://s.test/old")
        assert (moved.status, moved.headers["Location"]) == (301, "https://s.test/new")
        assert [site.respond(url).status for url in ("https://s.test/none", "http://[")] == [404, 404]


def test_a_redirect_ends_at_its_page_or_nowhere(warc: Path) -> None:
    with prepare_site([SiteSource([warc])], workers=1) as site:
        assert site.number("https://s.test/old") == site.number("https://s.test/new") >= 0
        assert site.number("https://s.test/astray") == site.number("https://s.test/none") == -1


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


def test_an_archive_without_pages_is_refused(tmp_path: Path) -> None:
    warc = write_site(tmp_path / "e.warc.gz", "e.test", {}, {"/": "/x"})
    with pytest.raises(InvalidInput, match="needs at least one page, got 1 records"):
        prepare_site([SiteSource([warc])], workers=1)


def test_a_label_table_without_its_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text("url\tkind\nhttp://s.test/\thome\n")
    with pytest.raises(InvalidInput, match="column page_type missing"):
        read_labels(path)


LINES = """\
2024-10-04T00:00:00Z c1 http://a.org/ -
2024-10-04T01:00:00Z c1 http://a.org/x http://a.org/
2024-10-05T00:00:00Z c2 http://a.org/ http://b.org/
2024-10-07T00:00:00Z c1 http://b.org/ http://a.org/
2024-10-08T23:59:59Z c1 http://a.org/x -
"""
DAY = 20_000


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "visits.tsv"
    path.write_text(LINES.replace(" ", "\t"))
    return path


def test_the_busiest_site_is_counted_from_its_first_to_its_last_day(log: Path) -> None:
    counts = read_counts(log)
    assert (counts.first_day, counts.n_days) == (DAY, 5)
    assert counts.urls == ["http://a.org/", "http://a.org/x"]
    assert counts.click_days.tolist() == [0, 1, 0, 4]
    assert counts.transits.tolist() == [2, 1, 1]


def test_a_site_that_is_not_there_is_named(log: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no visit of 'c\.org'"):
        read_counts(log, site="c.org")
