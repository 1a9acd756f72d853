"""`linkscore logs`: a file goes in once, a broken import goes on, mining and stats say what is there."""

from __future__ import annotations

import gzip
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import policy_pb2
from linkscore_cli.main import main
from linkscore_server.browse_logs import reading
from support.server_process import stubs

LINES = [
    f"2024-10-{day:02d}T00:{minute:02d}:00Z\tclient-{minute % 7}\thttp://a.org/{minute % 5}\t-\n"
    for day in range(1, 11)
    for minute in range(30)
]
# Clients and pages have no common period: each of the 30 minutes is a pair of its own, of 7 x 5.
VISITS = 300


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["logs", *arguments], env={"COLUMNS": "120"})


def seeds(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["seeds", *arguments], env={"COLUMNS": "120"})


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "visits.log.tsv.gz"
    path.write_bytes(gzip.compress(("".join(LINES) + "torn line of 10.0.0.1\n").encode()))
    return path


def create(target: str, name: str) -> None:
    policy = policy_pb2.PolicySpec(news_prefix=policy_pb2.NewsPrefixParams())
    crawl = crawl_pb.Crawl(name=f"crawls/{name}", policy=policy)
    with stubs(target) as connected:
        connected.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl))


@pytest.fixture
def there(target: str, request: pytest.FixtureRequest) -> list[str]:
    """Options that name a crawl of the test's own."""
    name = f"logs-{zlib.crc32(request.node.name.encode())}"
    create(target, name)
    return ["--crawl", name, "--target", target]


def row_of(output: str, name: str) -> str:
    """Return the figure of a row of a table."""
    (line,) = [line for line in output.splitlines() if line.startswith(f"│ {name} ")]
    return line.split("│")[2].strip()


def test_a_file_goes_in_once(log: Path, there: list[str]) -> None:
    first = run("import", str(log), *there)
    assert first.exit_code == 0, first.output
    assert [row_of(first.output, name) for name in ("read", "bad_line", "visits")] == [
        "301",
        "1",
        f"{VISITS}",
    ]
    assert "aaaa aaaa aa 99.9.9.9" in first.output
    assert "10.0.0.1" not in first.output
    second = run("import", str(log), *there)
    assert row_of(second.output, "visits") == "0"
    assert "1 batches were there already" in second.output


def test_an_import_that_broke_goes_on(log: Path, there: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run loses its file after two batches of a hundred records."""
    monkeypatch.setattr(reading, "BATCH_RECORDS", 100)
    whole = reading.batches_of

    def torn(*arguments: object, **options: object):
        with closing(whole(*arguments, **options)) as batches:  # type: ignore[arg-type]
            yield next(batches)
            yield next(batches)
            raise OSError("the disk went away")

    monkeypatch.setattr(reading, "batches_of", torn)
    failed = run("import", str(log), *there)
    assert (failed.exit_code, "the disk went away" in failed.output) == (1, True)
    monkeypatch.setattr(reading, "batches_of", whole)
    again = run("import", str(log), *there)
    assert "2 batches were there already" in again.output
    assert row_of(again.output, "visits") == f"{VISITS - 200}"
    assert f"{VISITS} of 5 pages" in run("mine", *there).output


def test_mining_prints_what_the_policy_learned(log: Path, there: list[str]) -> None:
    run("import", str(log), *there)
    mined = run("mine", *there)
    assert mined.exit_code == 0, mined.output
    assert "60 days from 2024-08-12" in mined.output
    assert f"{VISITS} of 5 pages" in mined.output
    assert "news_prefix" in mined.output


def test_seeds_of_all_sites_are_printed_or_why_there_are_none(
    log: Path, there: list[str], tmp_path: Path
) -> None:
    run("import", str(log), *there)
    few = seeds(*there)
    assert few.output.startswith("news_prefix suggests no page: 0 hosts have news")
    news = tmp_path / "news.log.tsv"
    news.write_text(
        "".join(
            f"2024-10-{day:02d}T00:00:00Z\tclient-{n}\thttp://b.org/news/{day}\thttp://b.org/list\n"
            for day in range(1, 31)
            for n in range(60)
        )
    )
    run("import", str(news), *there)
    found = seeds(*there, "--most", "1")
    assert found.output.startswith("0.85  http://b.org/list  visitors went from it to 29 news pages")
    assert '"policy": "news_prefix"' in seeds(*there, "--json").output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--crawl", "nope"], "NOT_FOUND"),
        (["--column", "url"], "FIELD=NAME"),
        (["--column", "colour=x"], "must be one of time, client, url"),
    ],
)
def test_mistakes_are_named(arguments: list[str], said: str, log: Path, there: list[str]) -> None:
    failed = run("import", str(log), *there, *arguments)
    assert failed.exit_code != 0
    assert said in failed.output
