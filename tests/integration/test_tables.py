"""`linkscore export tables`: tables have what the log has, in bounded memory, and the guide's queries run."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from linkscore import Client, page, rows
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import ConfigChanged, PageFetched, encode
from linkscore_scoring.features.html import extract
from linkscore_server.store import NewEvent, open_store
from linkscore_server.tables import TABLES
from support.command_line import run
from support.server_process import serving

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs/guides/tables.md"
SITE = "http://forum.example"
PAGES = 250


def crawl(client: Client, groups: int) -> Any:
    """Crawl the example site breadth first, say what threads are worth; one page comes twice, one fails."""
    client.create_crawl(crawl="forum", groups=groups)
    found = runpy.run_path(str(ROOT / "examples/site.py"))["page"]
    queue, tickets = ["/", "/nowhere"], {"/": b"", "/nowhere": b""}
    for n in range(PAGES):
        path = queue[n]
        body = found(path)
        sent = page(
            url=SITE + path,
            status_code=200 if body else 404,
            body=body.encode() if body else None,
            ticket=tickets[path],
            event_id=f"fetch-{n}",
        )
        (result,) = client.ingest_pages(crawl="forum", pages=[sent]).results
        for row in rows(result.links):
            target = row.url.removeprefix(SITE)
            if target not in tickets:
                queue.append(target)
                tickets[target] = row.ticket
        if "/thread/" in path:
            client.reward(crawl="forum", url=SITE + path, reward=1.0, ticket=tickets[path])
    client.ingest_pages(crawl="forum", pages=[page(url=SITE + "/", body=b"<p>", event_id="fetch-0")])
    client.learn_site(crawl="forum", site="forum.example", timeout_s=60)
    return client.get_crawl(crawl="forum")


@pytest.fixture(scope="module", params=[0, 2], ids=["one_group", "two_groups"])
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A folder with `tables`, and what the server said of the crawl."""
    folder = tmp_path_factory.mktemp("tables")
    with serving(folder) as process, Client(process.target) as client:
        said = crawl(client, request.param)
        got = run(
            "export", "tables", "--crawl", "forum", "--data-dir", folder / "data", "--out", folder / "tables"
        )
    assert got.exit_code == 0, got.output
    return folder, said


def asked(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as con:
        return con.execute(query.replace("'tables/", f"'{folder}/tables/")).fetchall()


def one(folder: Path, query: str) -> Any:
    ((value,),) = asked(folder, query)
    return value


def test_counts_are_those_of_the_crawl(exported: tuple[Path, Any]) -> None:
    folder, said = exported
    assert one(folder, "SELECT count(*) FROM 'tables/fetches.parquet'") == said.page_count
    assert one(folder, "SELECT count(*) FROM 'tables/rewards.parquet'") == said.feedback_count > 0
    assert said.page_count == PAGES
    assert one(folder, "SELECT count(*) FROM 'tables/pages.parquet'") == PAGES - 1  # one failed
    linked = one(folder, "SELECT sum(links) FROM 'tables/pages.parquet'")
    assert one(folder, "SELECT count(*) FROM 'tables/links.parquet'") == linked > PAGES
    fetched = one(folder, "SELECT sum(fetched) FROM 'tables/arms.parquet'")
    assert fetched == PAGES
    assert one(folder, "SELECT avg(reward) FROM 'tables/judged.parquet'") == 1.0
    assert one(folder, "SELECT count(*) FROM 'tables/templates.parquet'") > 1


def test_columns_are_those_that_are_said(exported: tuple[Path, Any]) -> None:
    folder, _ = exported
    for name, columns in TABLES.items():
        found = asked(folder, f"DESCRIBE SELECT * FROM 'tables/{name}.parquet'")
        assert {row[0]: row[1] for row in found} == columns


@pytest.mark.parametrize("number", range(5))
def test_the_queries_of_the_guide_run(exported: tuple[Path, Any], number: int) -> None:
    """Those of docs/guides/tables.md."""
    blocks = GUIDE.read_text(encoding="utf-8").split("```sql\n")[1:]
    assert len(blocks) == 5
    assert asked(exported[0], blocks[number].partition("```")[0])


def test_what_only_the_log_has_needs_no_replay(exported: tuple[Path, Any], tmp_path: Path) -> None:
    folder, _ = exported
    got = run(
        *("export", "tables", "--crawl", "forum", "--data-dir", folder / "data"),
        *("--out", tmp_path, "--events-only"),
    )
    assert got.exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"{name}.parquet" for name in ("fetches", "links", "pages", "rewards")
    ]


def test_what_is_not_there_is_said(exported: tuple[Path, Any], tmp_path: Path) -> None:
    none = run("export", "tables", "--crawl", "other", "--data-dir", exported[0] / "data", "--out", tmp_path)
    assert (none.exit_code, "crawl 'other'" in none.output) == (1, True)
    nowhere = run("export", "tables", "--crawl", "other", "--data-dir", tmp_path / "x", "--out", tmp_path)
    assert (nowhere.exit_code, "has no store" in nowhere.output) == (2, True)


def log_of(folder: Path, pages: int) -> None:
    """Write the log of so many pages with 30 links each, without a crawl."""
    body = "".join(f'<p><a href="/p/{n}">link number {n}</a></p>' for n in range(30)).encode()
    store = open_store(str(folder))
    log = store.create("large")
    log.commit([NewEvent("", "", encode(ConfigChanged(CrawlConfig("large").to_state())))]).result()
    features = extract(body, url="http://h.example/")
    for first in range(0, pages, 500):
        events = []
        for n in range(first, min(pages, first + 500)):
            url = f"http://h.example/p/{n}"
            features.url = features.key = url
            made = encode(PageFetched(f"e{n}", "h.example", url, url, 200, "", b"", 1e9 + n, features))
            events.append(NewEvent("h.example", f"e{n}", made))
        log.commit(events).result()
    store.close()


@pytest.mark.slow
def test_a_crawl_of_many_pages_takes_no_more_memory_than_one_of_few(tmp_path: Path) -> None:
    """100,000 pages with 3,000,000 links: within 300 MB of what 2,000 pages take."""
    peaks = []
    for pages in (2_000, 100_000):
        folder = tmp_path / str(pages)
        log_of(folder, pages)
        code = (
            "import resource, sys; from linkscore_cli.__main__ import main\n"
            "sys.argv = ['linkscore', 'export', 'tables', '--crawl', 'large', '--events-only', "
            f"'--data-dir', {str(folder)!r}, '--out', {str(folder / 'tables')!r}]\n"
            "try:\n    main()\nfinally:\n    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout.splitlines()[-1]) / 1024)
        assert one(folder, "SELECT count(*) FROM 'tables/pages.parquet'") == pages
        assert one(folder, "SELECT count(*) FROM 'tables/links.parquet'") == 30 * pages
    assert peaks[1] - peaks[0] < 300
