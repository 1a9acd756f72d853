"""One visit a client, page and day in any order; clients as salted hashes only; counts worked by hand."""

from __future__ import annotations

import random
from pathlib import Path

from linkscore_scoring.browse_logs.counts import OUTSIDE, BrowseCounts
from linkscore_server.browse_logs.reading import FORMATS, log_file, rule_sql
from linkscore_server.browse_logs.visits import COLUMNS, VisitQuery, counts_of, load_records, workspace
from support.browse_logs.visit_logs import DAY, ROWS, SALT, SITE, X, as_json, row

ROOT, TAGS = f"http://{SITE}/", f"http://{SITE}/tags"


def table(rows: list[dict[str, object]], path: Path, salt: bytes = SALT) -> list[tuple[object, ...]]:
    path.write_bytes(as_json(rows))
    with workspace(threads=1) as con:
        load_records(con, FORMATS["json"](log_file(path)), rule_sql(), salt)
        return con.execute(f"SELECT {COLUMNS} FROM visits ORDER BY ALL").fetchall()


def counted(
    rows: list[dict[str, object]],
    path: Path,
    *,
    first_day: int = DAY,
    n_days: int = 2,
    most: int = 500,
    site: str = SITE,
) -> BrowseCounts:
    """Return the counts of a log."""
    path.write_bytes(as_json(rows))
    with workspace(threads=1) as con:
        load_records(con, FORMATS["json"](log_file(path)), rule_sql(), SALT)
        return counts_of(con, "visits", VisitQuery(site, first_day, n_days, most))


def test_the_order_of_a_log_does_not_matter(tmp_path: Path) -> None:
    rows = [*ROWS, row(86_410, "10.0.0.1", "/x?a=1&b=2", f"http://{SITE}/a")]
    expected = table(rows, tmp_path / "a.jsonl")
    for seed in range(4):
        shuffled = random.Random(seed).sample(rows, len(rows))
        assert table(shuffled, tmp_path / "a.jsonl") == expected


def test_the_first_referrer_of_a_day_wins_at_equal_times_the_lower_one(tmp_path: Path) -> None:
    rows = [row(9, "c", "/", f"{ROOT}b"), row(9, "c", "/", f"{ROOT}a"), row(10, "c", "/", f"{ROOT}0")]
    ((_, _, referrer, *_),) = table(rows, tmp_path / "a.jsonl")
    assert referrer == f"{ROOT}a"


def test_referrers_of_other_sites_are_not_kept(tmp_path: Path) -> None:
    ((_, _, referrer, *_),) = table([row(9, "c", "/", "https://search.org/?q=secret")], tmp_path / "a.jsonl")
    assert referrer == ""


def test_a_client_is_absurd_site_by_site(tmp_path: Path) -> None:
    rows = [row(n, "c", "", url=f"http://{host}/{n}") for n in range(3) for host in ("a.org", "b.org")]
    assert counted(rows, tmp_path / "a.jsonl", site="", most=3).left_out == 0
    more = [*rows, row(9, "c", "/9")]
    assert counted(more, tmp_path / "a.jsonl", site="", most=3).left_out == 4


def test_counts_are_those_worked_by_hand(tmp_path: Path) -> None:
    counts = counted(ROWS, tmp_path / "a.jsonl")
    assert counts.urls == [ROOT, TAGS, X]
    clicks = list(zip(counts.click_urls, counts.click_days, counts.clicks, strict=True))
    assert clicks == [(0, 0, 2), (1, 1, 1), (2, 0, 1), (2, 1, 1)]
    transits = list(zip(counts.from_urls, counts.to_urls, counts.transits, strict=True))
    assert transits == [(OUTSIDE, 0, 2), (0, 2, 2), (2, 1, 1)]
    assert counts.visits().tolist() == [2, 1, 2]


def test_a_client_with_absurd_rates_does_not_count_on_that_day_only(tmp_path: Path) -> None:
    rows = [row(n, "scraper", f"/{n}") for n in range(6)] + [row(86_400, "scraper", "/0"), row(0, "c", "/0")]
    assert counted(rows, tmp_path / "a.jsonl", most=6).clicks.sum() == 8
    strict = counted(rows, tmp_path / "a.jsonl", most=5)
    assert (strict.clicks.sum(), strict.left_out) == (2, 6)
