"""The views: each asks the server and fills its template.

All crawls, and one with its sites; the site map, templates as nodes and navigation as edges; what the fetches
brought over time, and whether to go on; teaching, page by page.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from linkscore import AsyncClient
from linkscore.errors import LinkscoreError
from linkscore.v1 import (
    crawl_service_pb2,
    link_scoring_service_pb2,
    site_model_service_pb2,
)
from linkscore.v1 import inspection_service_pb2 as pb
from linkscore_console import words
from linkscore_console.page import AWAY, Console, Found, console_of, view

_CARDS = 12
"""Pages asked about at a time."""


@view("teach.html")
async def teach(console: Console, request: Request, crawl: str, site: str) -> Found:
    """Ask about fetched pages."""
    client = console.client
    found, configured = await asyncio.gather(
        client.suggest_examples(crawl=crawl, site=site, max_results=_CARDS),
        client.get_crawl(crawl=crawl),
    )
    return {"found": found, "examples": configured.examples}


async def answer(request: Request) -> Response:
    """Take the answer to one question: wanted pages become examples, others feedback."""
    console, crawl, site = console_of(request), *request.path_params.values()
    form = await console.form_of(request)
    url, wanted = form.get("url", ""), form.get("answer", "")
    client = console.client
    if wanted == "wanted":
        await client.update_crawl(crawl=crawl, examples=[crawl_service_pb2.ExamplePage(url=url)])
    elif wanted == "unwanted":
        feedback = link_scoring_service_pb2.Feedback(url=url, relevant=False)
        await client.report_feedback(crawl=crawl, feedback=[feedback])
    else:
        raise HTTPException(400, "The answer must be wanted or unwanted.")
    return RedirectResponse(words.site_url(crawl, site, "teach"), status_code=303)


async def example(request: Request) -> Response:
    """Take an example by its URL."""
    console, crawl, site = console_of(request), *request.path_params.values()
    form = await console.form_of(request)
    url, page_type = (form.get(name, "").strip() for name in ("url", "page_type"))
    made = crawl_service_pb2.ExamplePage(url=url, page_type=page_type)
    await console.client.update_crawl(crawl=crawl, examples=[made])
    return RedirectResponse(words.site_url(crawl, site, "teach"), status_code=303)


_T = TypeVar("_T")

_SHOWN_CRAWLS = 50
"""A bound: rows of a page, each two calls; the command line lists them all. Chosen."""
_SHOWN_SITES = 100
"""A bound: rows of a page, all of them one call; the command line lists them all. Chosen."""
_MANY_FAILED, _MANY_COPIES, _FEW = 0.2, 0.5, 20
"""Shares of pages that failed, or showed only text known before, from which a crawl is said to be in trouble,
and pages it takes to say so. Chosen, not measured."""


@view("crawls.html")
async def every(console: Console, request: Request) -> Found:
    """List crawls."""
    found = await _first(console.client.list_crawls, _SHOWN_CRAWLS)
    rows = await asyncio.gather(*(_row(console.client, crawl) for crawl in found[:_SHOWN_CRAWLS]))
    return {"rows": rows, "more": len(found) > _SHOWN_CRAWLS}


@view("crawl.html")
async def one(console: Console, request: Request, crawl: str) -> Found:
    """Show a crawl and its sites."""
    row, sites = await asyncio.gather(
        _row(console.client, await console.client.get_crawl(crawl=crawl)),
        _first(console.client.list_sites, _SHOWN_SITES, crawl=crawl),
    )
    return {"row": row, "sites": sites[:_SHOWN_SITES], "more": len(sites) > _SHOWN_SITES}


async def _first(listed: Callable[..., AsyncIterator[_T]], shown: int, **fields: Any) -> list[_T]:
    """Return what is shown of a list, and one more if there is."""
    found: list[_T] = []
    async for one in listed(page_size=shown + 1, **fields):
        found.append(one)
        if len(found) > shown:
            break
    return found


async def _row(client: AsyncClient, crawl: crawl_service_pb2.Crawl) -> Found:
    """Return a crawl, what became of it (None: it could not be asked), and what is wrong."""
    name, wanted = crawl.name.removeprefix("crawls/"), crawl.wanted
    activity, trouble = None, []
    try:
        activity = await client.get_activity(crawl=name)
        trouble = _trouble(activity)
    except AWAY:
        raise
    except LinkscoreError as error:
        trouble = [str(error)]
    return {
        "name": name,
        "crawl": crawl,
        "policy": words.policy_name(crawl.policy),
        "wanted": f"{len(wanted.samples)} samples" if wanted.samples else "",
        "activity": activity,
        "trouble": trouble,
    }


def _trouble(activity: crawl_service_pb2.Activity) -> list[str]:
    pages = activity.page_count
    if pages < _FEW:
        return []
    found = []
    if activity.failed_count > _MANY_FAILED * pages:
        found.append(f"{words.share(activity.failed_count / pages)} of the fetches failed")
    if activity.duplicate_count > _MANY_COPIES * pages:
        found.append(f"{words.share(activity.duplicate_count / pages)} of the pages showed nothing new")
    return found


_WORTH = 0.5
"""Share of the recent reward below which what is left is said to be hardly worth fetching; chosen."""

_LITTLE = 5.0
"""Rewards expected of the best links below which stopping is advised, some wanted pages; chosen."""


@view("harvest.html")
async def harvest(console: Console, request: Request, crawl: str, site: str) -> Found:
    """Show rewards over time."""
    client = console.client
    found, advice = await asyncio.gather(
        client.get_harvest(crawl=crawl, site=site),
        client.get_site_advice(crawl=crawl, site=site),
    )
    by_reward = found.reward_source == site_model_service_pb2.REWARD_SOURCE_FEEDBACK
    return {
        "found": found,
        "by_reward": by_reward,
        "advice": advice,
        "verdict": verdict(advice),
        "curves": curves(found, by_reward=by_reward),
    }


def verdict(advice: site_model_service_pb2.SiteAdvice) -> tuple[str, str]:
    """Return whether to go on, as a word for the look of it and a sentence."""
    if not advice.waiting_links:
        return "stop", "No link waits: every link that was found is fetched."
    if not advice.recent_fetches:
        return "unknown", "No fetch has been judged yet."
    ahead = advice.expected_reward / max(1, advice.expected_fetches)
    compared = f"{words.score(ahead)} a fetch expected ahead, {words.score(advice.recent_reward)} lately"
    if advice.recent_reward and ahead < _WORTH * advice.recent_reward:
        left = (
            f"The best {advice.expected_fetches:,} links should bring {advice.expected_reward:.1f} together"
        )
        if advice.expected_reward < _LITTLE:
            return "fade", f"There is little left: {compared}. {left}. Think of stopping, or of another site."
        return "fade", f"It is getting worse: {compared}. {left}."
    if ahead < 0.05:
        return "fade", f"There is little left: {compared}."
    return "go", f"Worth going on: {compared}."


def curves(found: pb.GetHarvestResponse, *, by_reward: bool) -> dict[str, Any]:
    """Return the series of the chart, as the script of the page draws them."""
    worth = "reward" if by_reward else "text_reward"
    ends = [point.first_fetch + point.fetch_count - 1 for point in found.points]
    weights = [point.reported_count if by_reward else point.fetch_count for point in found.points]
    values = [getattr(point, worth) for point in found.points]
    known = [value if weight else None for value, weight in zip(values, weights, strict=True)]
    total, counted, means = 0.0, 0, []
    for value, weight in zip(values, weights, strict=True):
        total, counted = total + value * weight, counted + weight
        means.append(total / counted if counted else None)
    return {
        "harvest": {
            "x": ends,
            "series": [
                {"label": "these fetches", "values": known},
                {"label": "all so far", "values": means},
            ],
        },
    }


_SHOWN = 60
"""Templates of the map: a bound; more cannot be read. The list below it has all."""
_SAMPLES = 60
"""Sample URLs of a template, the latest: more are not read."""
_LEARN_S = 300.0
"""Longest learning that the page waits for; a site of 2,000 sampled pages takes seconds."""
_LABELLED = 40
"""Characters of a label of a node."""
_LONG = 24
"""Characters of a segment of a path beyond which it is taken for a title."""


@dataclass(slots=True)
class Node:
    """A template on the map."""

    template: pb.Template  # as the server tells it
    hint: str  # what its pages are called, unlike all others of the map
    entry: bool  # a seed is one of its pages; a seed that is like no other page is of no template
    # what leads there: source template and exit, most links first
    sources: list[tuple[str, pb.TemplateExit]] = field(default_factory=list)

    @property
    def pages(self) -> int:
        """Its pages: those crawled since it has its name, or if that is new, those it was learned from."""
        return max(self.template.crawled_pages, self.template.sample_pages)


@view("map.html")
async def site_map(console: Console, request: Request, crawl: str, site: str) -> Found:
    """Show the templates of a site."""
    found = await console.client.list_templates(crawl=crawl, site=site)
    nodes = nodes_of(found.templates)
    return {
        "found": found,
        "nodes": nodes,
        "why_empty": why_empty(found),
        "graph": graph_of(nodes[:_SHOWN], words.site_url(crawl, site)),
        "by_reward": found.reward_source == site_model_service_pb2.REWARD_SOURCE_FEEDBACK,
    }


@view("template.html")
async def template(console: Console, request: Request, crawl: str, site: str, template: str) -> Found:
    """Show one template: its pages, tag paths, figures, and what leads there."""
    client = console.client
    listed, pages = await asyncio.gather(
        client.list_templates(crawl=crawl, site=site),
        client.list_template_pages(crawl=crawl, site=site, template=template, max_results=_SAMPLES),
    )
    nodes = {node.template.name: node for node in nodes_of(listed.templates)}
    node = nodes.get(template)
    return {
        "status": 200 if node or pages.pages else 404,
        "name": template,
        "node": node,
        "pages": pages,
    }


async def learn(request: Request) -> Response:
    """Learn the templates of a site now."""
    console, crawl, site = console_of(request), *request.path_params.values()
    await console.form_of(request)
    await console.client.learn_site(crawl=crawl, site=site, timeout_s=_LEARN_S)
    return RedirectResponse(words.site_url(crawl, site), status_code=303)


def nodes_of(templates: Sequence[pb.Template]) -> list[Node]:
    """Return the nodes of a map, each with what leads there."""
    names = names_of(templates)
    nodes = [Node(one, names[one.name], entry=one.min_depth == 0) for one in templates]
    by_name = {node.template.name: node for node in nodes}
    for one in templates:
        for leaving in one.exits:
            if leaving.destination in by_name:
                by_name[leaving.destination].sources.append((one.name, leaving))
    for node in nodes:
        node.sources.sort(key=lambda pair: -pair[1].link_count)
    return nodes


def why_empty(found: pb.ListTemplatesResponse) -> str:
    """Say why there are no templates yet; empty if there are."""
    if found.templates:
        return ""
    if found.learning:
        return "The templates are being learned right now."
    if found.next_learning_at:
        return (
            f"Templates are learned from {words.number(found.next_learning_at)} different pages; "
            f"{words.number(found.sample_count)} were seen so far."
        )
    return "This crawl learns templates only when it is asked to."


def graph_of(nodes: Sequence[Node], address: str) -> dict[str, Any]:
    """Return nodes and edges as the script of the page draws them."""
    names = {node.template.name for node in nodes}
    return {
        "nodes": [
            {
                "id": node.template.name,
                "label": _label(node),
                "pages": node.pages,
                "reward": node.template.reward if node.template.judged_count else None,
                "entry": node.entry,
                "href": f"{address}/{node.template.name}",
            }
            for node in nodes
        ],
        "edges": [edge for node in nodes for edge in _edges(node, names)],
    }


def _label(node: Node) -> str:
    return f"{node.hint}\n{words.number(node.pages)} {'page' if node.pages == 1 else 'pages'}"


def _edges(node: Node, names: set[str]) -> Iterator[dict[str, Any]]:
    """Yield the links of one template to each other: all exits with one destination are one edge."""
    best: dict[str, list[pb.TemplateExit]] = {}
    for leaving in node.template.exits:
        if leaving.destination in names:
            best.setdefault(leaving.destination, []).append(leaving)
    for destination, exits in best.items():
        first = max(exits, key=lambda leaving: leaving.link_count)
        yield {
            "source": node.template.name,
            "target": destination,
            "label": words.place(first.tag_path),
            "links": sum(leaving.link_count for leaving in exits),
            "prob": first.destination_prob,
            "pagination": any(leaving.page_links for leaving in exits),
        }


def names_of(templates: Sequence[pb.Template]) -> dict[str, str]:
    """Return a name for each: the common part of its addresses, with its own name if others share it."""
    hints = {one.name: hint_of(one.example_url) for one in templates}
    alike = Counter(hints.values())
    return {name: hint if alike[hint] == 1 else f"{hint} ({name})" for name, hint in hints.items()}


def hint_of(url: str) -> str:
    """Return a short name of the pages like one: its path, with `#` for numbers and `…` for long names.

    Examples
    --------
    >>> hint_of("http://a.org/thread/1234"), hint_of("http://a.org/"), hint_of("http://a.org/index.php?id=7")
    ('/thread/#', '/', '/index.php?id')
    >>> hint_of("http://a.org/2020/how-to-do-it/")
    '/#/…/'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return words.shown(url, _LABELLED)
    segments = [_named(segment) for segment in parts.path.split("/")]
    keys = [pair.partition("=")[0] for pair in parts.query.split("&") if pair]
    hint = "/".join(segments) or "/"
    return words.shown(hint + (f"?{'&'.join(keys)}" if keys else ""), _LABELLED)


def _named(segment: str) -> str:
    """Return a segment of a path as it may stand for those of all pages alike."""
    if segment.isdigit():
        return "#"
    is_slug = len(segment) > _LONG or segment.count("-") > 1 or any(c.isdigit() for c in segment)
    return "…" if is_slug else segment
