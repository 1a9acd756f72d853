"""Online commands against a server with TLS and a token, from where lxml, numpy and the server are not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkscore import Client, page
from linkscore_server.operator_files import digest_of
from support.bare_command import run_bare
from support.command_line import run
from support.self_signed import self_signed
from support.server_process import serving
from support.small_site import HOST, body_of, url_of

LOG = "".join(
    f"2024-10-{day:02d}T00:{n:02d}:00Z\tclient-{n % 7}\thttp://a.org/{n % 5}\t-\n"
    for day in range(1, 11)
    for n in range(30)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a key and its certificate, which is its own authority, and a token."""
    made = tmp_path_factory.mktemp("tls")
    self_signed(made)
    (made / "token").write_text("s3cret-of-this-test\n")
    (made / "tokens").write_text(f"ops admin * sha256:{digest_of('s3cret-of-this-test')}\n")
    return made


@pytest.fixture(scope="module")
def there(folder: Path) -> Iterator[dict[str, str]]:
    """Variables that reach a server which asks for TLS and a token, and holds pages of a site."""
    ca, token = folder / "cert.pem", folder / "token"
    flags = [
        "--tls-cert",
        str(ca),
        "--tls-key",
        str(folder / "key.pem"),
        "--token-file",
        str(folder / "tokens"),
    ]
    with serving(folder / "server", *flags) as server:
        with Client(server.target, tls=ca, token="s3cret-of-this-test") as client:
            client.create_crawl(crawl="life")
            pages = [page(url=url_of(n), body=body_of(n), content_type="text/html") for n in range(30)]
            client.ingest_pages(crawl="life", pages=pages)
            client.learn_site(crawl="life", site=HOST)
            client.create_crawl(crawl="spent", budget={"max_fetches": 1})
            client.ingest_pages(crawl="spent", pages=pages[:2])
        yield {
            "LINKSCORE_TARGET": server.target,
            "LINKSCORE_TLS_CA": str(ca),
            "LINKSCORE_TOKEN_FILE": str(token),
        }


def test_every_online_command_passes_tls_and_token_on_the_client_alone(
    there: dict[str, str],
) -> None:
    asked = {
        ("score", "--why", url_of(3), "--crawl", "life"): "score",
        ("advise", HOST, "--crawl", "life"): "30 pages",
        ("skipped", "--crawl", "spent"): f"crawl_budget\thttp://{HOST}/",
        ("skipped", HOST, "--crawl", "life"): "no link was left out",
        ("seeds", HOST, "--crawl", "life"): "harvest suggests no page",
        ("crawls", "create", "two", "--policy", "pagerank:damping=0.5"): "pagerank:damping=0.5",
        ("crawls", "create", "words", "--wanted", "pricing of the API"): "pricing of the API",
        ("crawls", "create", "ends", "--budget", "max_fetches=9", "--respect", "tdm"): "max_fetches=9",
        ("crawls", "update", "ends", "--no-budget", "--respect", "ai-train"): "ai-train",
        ("crawls", "update", "ends", "--observe-only"): "observe only",
        ("crawls", "create", "parts", "--policy", "harvest", "--groups", "2"): "groups",
        ("crawls", "list"): "life",
        ("crawls", "shards"): "0/1",
        ("crawls", "shards", "--settings"): "max_message_bytes",
        ("crawls", "shards", "--crawl", "life", "--json"): '"state": "SHARD_STATE_OPEN"',
        ("crawls", "show", "life", "--sites"): HOST,
        ("crawls", "update", "two", "--policy", "opic", "--no-examples"): "opic",
        ("crawls", "delete", "two", "--yes"): "deleted: two",
        ("logs", "mine", HOST, "--crawl", "life"): "there is nothing to mine",
    }
    for arguments, got in zip(asked, run_bare([list(line) for line in asked], **there), strict=True):
        assert got.code == 0, (arguments, got.output)
        assert asked[arguments] in got.output, (arguments, got.output)
    assert "observe only" not in run("crawls", "update", "ends", "--no-observe-only", **there).output


def test_without_the_token_the_server_says_so(there: dict[str, str]) -> None:
    without = {name: value for name, value in there.items() if name != "LINKSCORE_TOKEN_FILE"}
    got = run("crawls", "list", **without)
    assert got.exit_code == 1
    assert "Error: UNAUTHENTICATED: " in got.output
    assert run("crawls", "list", "--token", "s3cret-of-this-test", **without).exit_code == 0


def test_an_import_reaches_a_server_with_tls_and_token(there: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "visits.log.tsv"
    log.write_text(LOG)
    lacking = run("logs", "import", log, "--crawl", "fresh", **there)
    assert lacking.exit_code == 1
    assert "no such crawl; create it first (linkscore crawls create)" in lacking.output
    run("crawls", "create", "fresh", "--policy", "news_prefix:fallback=keyword", **there)
    assert run("logs", "import", log, "--crawl", "fresh", **there).exit_code == 0
    again = run("logs", "import", log, "--crawl", "fresh", **there)
    assert "1 batches were there already" in again.output
    shown = json.loads(run("crawls", "show", "fresh", "--json", **there).output)
    assert shown["policy"] == {"news_prefix": {"fallback": "keyword"}}


def test_a_crawl_lives_as_its_commands_say(there: dict[str, str], tmp_path: Path) -> None:
    example = tmp_path / "example.html"
    example.write_text("<html><body><p>What is wanted.</p></body></html>")
    create = ["crawls", "create", "mine", "--policy", "harvest:curiosity=0.1"]
    create += ["--scope", "domain", "--example", "http://a.org/1", "--example", example, "--seed", 7]
    assert run(*create, **there).exit_code == 0
    assert run(*create, **there).exit_code == 0
    other = run("crawls", "create", "mine", "--policy", "opic", **there)
    assert (other.exit_code, "Error: ALREADY_EXISTS: " in other.output) == (1, True)
    shown = json.loads(run("crawls", "show", "mine", "--json", "--sites", **there).output)
    assert shown["name"] == "crawls/mine"
    assert shown["policy"] == {"harvest": {"curiosity": 0.1}}
    assert (shown["scope"], shown["seed"]) == ("CRAWL_SCOPE_DOMAIN", "7")
    assert [page.get("url") for page in shown["examples"]] == ["http://a.org/1", None]
    assert shown["sites"] == []
    text = run("crawls", "show", "mine", **there).output
    for said in ("harvest:curiosity=0.1", "domain", "http://a.org/1", "a page without URL"):
        assert said in text
    changed = run("crawls", "update", "mine", "--policy", "in_degree", "--json", **there)
    assert json.loads(changed.output)["policy"] == {"in_degree": {}}
    assert "mine" in {
        crawl["name"][7:] for crawl in json.loads(run("crawls", "list", "--json", **there).output)
    }
    assert "Aborted" in run("crawls", "delete", "mine", **there).output
    assert run("crawls", "delete", "mine", "--yes", **there).exit_code == 0
    assert "NOT_FOUND" in run("crawls", "show", "mine", **there).output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["crawls", "create", "C!"], "INVALID_ARGUMENT: NAME: "),
        (
            ["crawls", "create", "x", "--policy", "harvest:curiosity=99"],
            "--policy harvest.curiosity: must be",
        ),
        (["crawls", "create", "x", "--policy", "no_such"], "INVALID_ARGUMENT: --policy: "),
        (["crawls", "create", "x", "--budget", "max_fetchs=9"], "must be some of max_fetches"),
        (["crawls", "create", "x", "--budget", "max_fetches=-1"], "Invalid value for --budget"),
        (["crawls", "create", "x", "--respect", "train"], "INVALID_ARGUMENT: --respect"),
        (["crawls", "create", "x", "--example", "nothing.html"], "Invalid value for --example"),
        (["crawls", "create", "x", "--groups", "0"], "'--groups': 0 is not in the range"),
        (["crawls", "update", "life"], "Nothing to change"),
        (
            ["crawls", "update", "life", "--policy", "harvest:curiosity=99"],
            "--policy harvest.curiosity: must",
        ),
        (["score", "--why", "/relative", "--crawl", "life"], "URL: must be an absolute"),
    ],
)
def test_a_mistake_is_named_by_its_option(there: dict[str, str], arguments: list[str], said: str) -> None:
    got = run(*arguments, **there)
    assert got.exit_code != 0
    assert said in got.output
