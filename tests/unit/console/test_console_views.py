"""Every view of the console says what the server knows, and hostile pages are shown harmless."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest
from lxml import html
from starlette.testclient import TestClient

from linkscore import Client, page
from linkscore_console.words import share
from support.console.crawls import BOOKS, HARM_HOST, HARMED, YOUNG, harm_body, harm_url
from support.small_site import HOST, url_of

VIEWS = ("map", "frontier", "harvest", "teach")


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
    assert "harvest + breadth_first + in_degree 60" in rows[BOOKS]
    assert "1 of 1" in rows[BOOKS]
    assert "0 of 1" in rows[YOUNG]
    assert "no feedback" in rows[YOUNG]


def test_the_rate_is_that_between_two_looks(console: TestClient, target: str) -> None:
    clock = iter(range(0, 1_000_000, 10))
    console.app._app.state.console.source._clock = lambda: float(next(clock))
    console.get("/")
    rates = tree(console, "/").xpath("//section[@id='crawls']//tr[1]/td[3]")
    assert [text(rate) for rate in rates] == ["0.0"]


def test_a_crawl_shows_its_sites_and_each_view_of_them(console: TestClient) -> None:
    page = tree(console, f"/crawls/{BOOKS}")
    (row,) = page.get_element_by_id("sites").iterfind(".//tbody/tr")
    assert text(row).startswith(f"{HOST} learned 60 0")
    (links,) = row.find_class("links")
    assert [link.get("href") for link in links.iterfind("a")] == [of(BOOKS, v) for v in VIEWS]


def test_a_crawl_with_revisits_shows_how_fresh_it_is_and_what_to_fetch_again(
    console: TestClient, target: str
) -> None:
    long_ago = datetime(2020, 1, 2, 3, 4, tzinfo=UTC)
    with Client(target) as client:
        client.create_crawl(crawl="again", revisit={"fetches_per_day": 3.0})
        client.ingest_pages(
            crawl="again",
            pages=[page(url=harm_url(n), body=harm_body(n), fetch_time=long_ago) for n in range(3)],
        )
        fresh = client.rank_revisits(crawl="again").expected_freshness
    shown = tree(console, "/crawls/again")
    rows = [text(row) for row in shown.get_element_by_id("due").iterfind(".//tbody/tr")]
    assert len(rows) == 3
    assert all("not fetched for the longest interval 2020-01-02 03:04 UTC" in row for row in rows)
    assert f"Fresh{share(fresh)}of 3 known pages" in text(shown.get_element_by_id("tiles"))
    assert not shown.xpath("//section[@id='due']//script")
    assert not tree(console, f"/crawls/{BOOKS}").xpath("//section[@id='due']")


def test_the_map_has_the_templates_as_nodes_and_navigation_as_edges(console: TestClient, target: str) -> None:
    page = tree(console, of(BOOKS, "map"))
    graph = data(page, "graph")
    with Client(target) as client:
        templates = client.list_templates(crawl=BOOKS, site=HOST).templates
    assert [(node["id"], node["pages"]) for node in graph["nodes"]] == [
        (template.name, template.crawled_pages) for template in templates
    ]
    assert {node["label"].split("\n")[0] for node in graph["nodes"]} >= {"/thread/#", "/board/#", "/member/#"}
    names = {node["id"] for node in graph["nodes"]}
    assert graph["edges"]
    assert all({edge["source"], edge["target"]} <= names for edge in graph["edges"])
    assert "a[threadlink]" in {edge["label"] for edge in graph["edges"]}
    rows = page.get_element_by_id("templates").findall(".//tbody/tr")
    assert len(rows) == len(templates)


def test_a_template_shows_samples_figures_and_what_leads_there(console: TestClient) -> None:
    node = data(tree(console, of(BOOKS, "map")), "graph")["nodes"][0]
    page = tree(console, node["href"])
    assert [text(tile) for tile in page.find_class("tile-name")] == [
        "Pages",
        "Worth",
        "Info",
        "Dsim",
        "Balance",
    ]
    samples = [link.get("href") for link in page.iterfind(".//ol[@class='samples']/li/div/a")]
    assert len(samples) == 20
    assert all(url.startswith(f"http://{HOST}/") for url in samples)
    more = page.xpath("//a[text()='More pages']/@href")
    assert more == ["?from=20"]
    again = tree(console, node["href"] + more[0]).iterfind(".//ol[@class='samples']/li/div/a")
    assert not set(samples) & {link.get("href") for link in again}
    assert "What leads there" in text(page)


def test_a_template_that_is_gone_is_said(console: TestClient) -> None:
    assert "no template of this name" in text(tree(console, of(BOOKS, "map/c999"), 404))


def test_a_map_without_templates_says_why(console: TestClient, writing: TestClient) -> None:
    reading = text(tree(console, of(YOUNG, "map")))
    assert "Templates are learned from 200 different pages; 10 were seen so far." in reading
    assert "--write" in reading
    form = tree(writing, of(YOUNG, "map")).forms[0]
    assert (form.action, form.method) == (of(YOUNG, "learn"), "POST")


def test_the_frontier_lists_groups_by_value_and_adds_up(console: TestClient) -> None:
    page = tree(console, of(BOOKS, "frontier"))
    rows = page.get_element_by_id("buckets").findall(".//tbody/tr")
    values = [float(text(row[1])) for row in rows]
    assert values == sorted(values, reverse=True)
    waiting = sum(int(text(row[4]).replace(",", "")) for row in rows)
    assert f"{waiting:,} links are pending in {len(rows)} buckets, valued by harvest" in text(page)
    for row, value in zip(rows, values, strict=True):  # the parts of a bar are as long as the value together
        parts = [
            float(part.get("width")) for part in row.iterfind(".//rect") if part.get("class") != "bar-back"
        ]
        assert sum(parts) == pytest.approx(100 * value, abs=0.2)


def test_the_frontier_is_shown_as_another_policy_of_the_crawl_sees_it(console: TestClient) -> None:
    assert "valued by breadth_first" in text(tree(console, of(BOOKS, "frontier") + "?policy=breadth_first"))
    assert "valued by harvest" in text(tree(console, of(BOOKS, "frontier") + "?policy=no_such"))


def test_a_url_is_explained_in_words_and_numbers(console: TestClient, target: str) -> None:
    url = url_of(301)
    page = tree(console, f"{of(BOOKS, 'frontier')}?url={url}").get_element_by_id("explained")
    with Client(target) as client:
        known = client.explain_links(crawl=BOOKS, links=[url]).explanations[0]
    assert known.summary in text(page)
    assert {term.name.replace("_", " ") for term in known.terms} == {
        text(term).rsplit(" ", 1)[0] for term in page.iterfind(".//dt")
    }


@pytest.mark.parametrize("url", ["nonsense", "javascript:alert(1)", "http://" + "x" * 3_000, "//[", "\u202e"])
def test_a_url_that_is_none_is_refused_in_words(console: TestClient, url: str) -> None:
    page = tree(console, f"{of(BOOKS, 'frontier')}?url={url}")
    assert page.find_class("warn block")
    assert not page.xpath("//section[@id='explained']")


def test_the_harvest_is_told_as_curves_and_as_tables(console: TestClient, target: str) -> None:
    page = tree(console, of(BOOKS, "harvest"))
    curves = data(page, "curves")
    with Client(target) as client:
        found = client.get_harvest(crawl=BOOKS, site=HOST)
    assert curves["harvest"]["x"][-1] == 60
    assert curves["harvest"]["series"][0]["values"] == [point.text_reward for point in found.points]
    total = sum(point.text_reward * point.fetch_count for point in found.points)
    assert curves["harvest"]["series"][1]["values"][-1] == pytest.approx(total / 60)
    assert [one["label"] for one in curves["lookback"]["series"]] == [
        "harvest (serves)",
        "breadth_first (learns beside it)",
        "in_degree (learns beside it)",
    ]
    assert all(
        len(one["values"]) == len(curves[chart]["x"]) for chart in curves for one in curves[chart]["series"]
    )
    tables = page.get_element_by_id("figures").findall(".//table")
    assert len(tables[0].findall(".//tbody/tr")) == len(found.points)


def test_who_said_nothing_and_may_expect_little_is_sent_to_teach(console: TestClient, target: str) -> None:
    with Client(target) as client:
        needs = [client.get_site_advice(crawl=crawl, site=HOST).needs_examples for crawl in (BOOKS, YOUNG)]
    assert needs == [True, False]
    for crawl, links in ((BOOKS, [of(BOOKS, "teach")]), (YOUNG, [])):
        assert tree(console, of(crawl, "harvest")).xpath("//section[@id='verdict']//a/@href") == links


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


def test_an_odd_page_of_a_list_starts_anew(console: TestClient) -> None:
    for odd in ("-1", "x", "9" * 400, "\u0663"):
        assert tree(console, f"{of(BOOKS, 'frontier')}?from={odd}").get_element_by_id("buckets") is not None


@pytest.mark.parametrize("view", ["map", "frontier", "harvest", "teach"])
def test_hostile_pages_are_shown_harmless(console: TestClient, view: str) -> None:
    answer = console.get(of(HARMED, view, HARM_HOST))
    page = html.fromstring(answer.text)
    scripts = [script.get("src") or script.get("type") for script in page.iter("script")]
    assert set(scripts) <= {
        "/static/theme.js",
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


def test_a_card_says_how_the_page_was_linked_however_hostile_the_text(console: TestClient) -> None:
    cards = tree(console, of(BOOKS, "teach")).find_class("ask-anchor")
    assert cards
    assert all(re.fullmatch(r"linked as (go \d+|home)", text(card)) for card in cards)
    hostile = [text(card) for card in tree(console, of(HARMED, "teach", HARM_HOST)).find_class("ask-anchor")]
    assert hostile
    assert all(said.startswith('linked as "><script>alert(1)</script>\ufffdgnp.exe') for said in hostile)
    assert max(map(len, hostile)) < 150


def test_titles_are_shown_of_a_crawl_that_keeps_them_however_hostile(console: TestClient) -> None:
    shown = f'"><script>alert(1)</script>\ufffdgnp.exe {"x" * 164}'
    graph = data(tree(console, of(HARMED, "map", HARM_HOST)), "graph")
    samples = tree(console, graph["nodes"][0]["href"]).find_class("samples")
    for found in (tree(console, of(HARMED, "teach", HARM_HOST)).find_class("ask"), samples):
        assert {text(title) for one in found for title in one.find_class("page-title")} == {shown}
    assert not tree(console, of(BOOKS, "teach")).find_class("page-title")


def test_the_page_of_a_hostile_template_is_harmless_too(console: TestClient) -> None:
    for node in data(tree(console, of(HARMED, "map", HARM_HOST)), "graph")["nodes"]:
        answer = console.get(node["href"])
        assert answer.status_code == 200
        assert "<script>alert" not in answer.text
        assert "\u202e" not in answer.text
