"""Every view of the console says what the server knows, and hostile pages are shown harmless.

The libraries in the wheel are those that `make console` built, with their licences.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from lxml import html
from starlette.testclient import TestClient

import linkscore_console
from linkscore import Client
from linkscore.v1.site_model_service_pb2 import SiteAdvice
from linkscore_console.views import verdict
from support.console.crawls import BOOKS, HARM_HOST, HARMED, YOUNG
from support.small_site import HOST


def tree(console: TestClient, path: str, status: int = 200) -> html.HtmlElement:
    answer = console.get(path)
    assert answer.status_code == status, answer.text
    return html.fromstring(answer.text)


def text(element: html.HtmlElement) -> str:
    return " ".join(element.text_content().split())


def of(crawl: str, view: str, host: str = HOST) -> str:
    return f"/crawls/{crawl}/sites/{host}/{view}"


def data(page: html.HtmlElement, name: str) -> dict:
    return json.loads(page.get_element_by_id(name).text)


def test_crawls_are_listed_with_what_became_of_them(console: TestClient) -> None:
    rows = {
        text(row.find("th")): text(row)
        for row in tree(console, "/").get_element_by_id("crawls").iterfind(".//tbody/tr")
    }
    assert rows.keys() >= {BOOKS, YOUNG, HARMED}
    assert "harvest 60" in rows[BOOKS]
    assert "1 of 1" in rows[BOOKS]
    assert "0 of 1" in rows[YOUNG]
    assert "no feedback" in rows[YOUNG]


def test_the_map_draws_the_most_crawled_templates_and_navigation_and_lists_all(
    console: TestClient, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linkscore_console.views._SHOWN", 2)
    graph = data(page := tree(console, of(BOOKS, "map")), "graph")
    with Client(target) as client:
        templates = client.list_templates(crawl=BOOKS, site=HOST).templates
    assert [(node["id"], node["pages"]) for node in graph["nodes"]] == [
        (template.name, template.crawled_pages) for template in templates[:2]
    ]
    assert {node["label"].split("\n")[0] for node in graph["nodes"]} == {"/thread/#", "/board/#"}
    names = {node["id"] for node in graph["nodes"]}
    assert all({edge["source"], edge["target"]} <= names for edge in graph["edges"])
    assert "a[threadlink]" in {edge["label"] for edge in graph["edges"]}
    assert len(page.get_element_by_id("templates").findall(".//tbody/tr")) == len(templates) == 3


def test_a_template_shows_samples_figures_and_what_leads_there(console: TestClient) -> None:
    node = data(tree(console, of(BOOKS, "map")), "graph")["nodes"][0]
    page = tree(console, node["href"])
    assert [text(tile) for tile in page.find_class("tile-name")] == ["Pages", "Reward"]
    samples = [link.get("href") for link in page.iterfind(".//ol[@class='samples']/li/div/a")]
    assert len(samples) == 36
    assert all(url.startswith(f"http://{HOST}/") for url in samples)
    assert "What leads there" in text(page)


def test_a_map_without_templates_says_why(console: TestClient, writing: TestClient) -> None:
    reading = text(tree(console, of(YOUNG, "map")))
    assert "Templates are learned from 200 different pages; 10 were seen so far." in reading
    assert "--write" in reading
    form = tree(writing, of(YOUNG, "map")).forms[0]
    assert (form.action, form.method) == (of(YOUNG, "learn"), "POST")


def test_the_harvest_is_told_as_curves_and_as_tables(console: TestClient, target: str) -> None:
    page = tree(console, of(BOOKS, "harvest"))
    curves = data(page, "curves")
    with Client(target) as client:
        found = client.get_harvest(crawl=BOOKS, site=HOST)
    assert curves["harvest"]["x"][-1] == 60
    assert curves["harvest"]["series"][0]["values"] == [point.text_reward for point in found.points]
    total = sum(point.text_reward * point.fetch_count for point in found.points)
    assert curves["harvest"]["series"][1]["values"][-1] == pytest.approx(total / 60)
    assert all(
        len(one["values"]) == len(curves[chart]["x"]) for chart in curves for one in curves[chart]["series"]
    )
    tables = page.get_element_by_id("figures").findall(".//table")
    assert len(tables[0].findall(".//tbody/tr")) == len(found.points)


@pytest.mark.parametrize(("expected", "said"), [(4.0, "Think of stopping"), (20.0, "It is getting worse")])
def test_stopping_is_advised_only_where_the_best_links_promise_little(expected: float, said: str) -> None:
    lately = {"waiting_links": 90, "recent_fetches": 40, "recent_reward": 0.9}
    assert said in verdict(SiteAdvice(expected_fetches=100, expected_reward=expected, **lately))[1]


@pytest.mark.parametrize(
    "path",
    [
        "/crawls/no-such",
        "/crawls/no-such/sites/a.test/map",
        f"/crawls/{BOOKS}/sites/no-such.test/harvest",
        f"/crawls/{BOOKS}/sites/%3Cscript%3E/map",
    ],
)
def test_what_is_not_there_is_said(console: TestClient, path: str) -> None:
    page = tree(console, path, 404)
    assert "NOT_FOUND" in text(page)


@pytest.mark.parametrize("view", ["map", "harvest", "teach"])
def test_hostile_pages_are_shown_harmless(console: TestClient, view: str) -> None:
    answer = console.get(of(HARMED, view, HARM_HOST))
    page = html.fromstring(answer.text)
    scripts = [script.get("src") or script.get("type") for script in page.iter("script")]
    assert set(scripts) <= {
        "/static/console.js",
        "/static/sitemap.js",
        "/static/curves.js",
        "application/json",
    }
    assert "\u202e" not in page.text_content()
    assert not re.search("x{3000}", page.text_content())
    assert not any("\u202e" in link.get("href") for link in page.iter("a"))
    handlers = [name for element in page.iter() for name in element.attrib if name.startswith("on")]
    assert handlers == []
    assert all(link.get("href").startswith(("/", "http://", "https://", "#", "?")) for link in page.iter("a"))
    for part in page.xpath("//script[@type='application/json']"):
        assert "<" not in part.text  # what looks like a tag is escaped there too
        json.loads(part.text)


STATIC = Path(linkscore_console.__file__).parent / "static"
VENDOR = STATIC / "vendor"


def test_every_bundled_file_is_as_it_was_built() -> None:
    sums = dict(line.split("  ")[::-1] for line in (VENDOR / "SHA256SUMS").read_text().splitlines())
    files = {path.name for path in VENDOR.iterdir()} - {"SHA256SUMS"}
    assert sums.keys() == files
    for name, digest in sums.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name
