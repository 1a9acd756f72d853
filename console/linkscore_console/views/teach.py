"""Teaching: which pages are wanted, asked page by page, and what each answer did to the order."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from linkscore.v1 import crawl_service_pb2, inspection_service_pb2, link_scoring_service_pb2
from linkscore_console import words
from linkscore_console.page import MAX_EXAMPLE_BYTES, Console, Found, back_to, console_of, view

_CARDS = 12
"""Pages asked about at a time."""
_SHOWN = 8
"""Groups of links whose order before and after an answer is shown."""
_COMPARED = 200
"""Groups among which their places before are looked up."""
_MAX_EFFECTS = 256
"""A bound: sites whose last effect is remembered."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A group of links after an answer: place and value now and before (0: it was not compared)."""

    bucket: inspection_service_pb2.BucketStats
    place: int
    before: int
    value_before: float

    @property
    def up(self) -> int:
        """Places it rose; negative if it fell, 0 if it was not compared."""
        return self.before - self.place if self.before else 0


@dataclass(frozen=True, slots=True)
class Effect:
    """What an answer did: what was said, and the order now."""

    said: str
    moved: list[Moved]


_effects: OrderedDict[tuple[str, str, str], Effect] = OrderedDict()
"""The last effect by server, crawl and site; for the page that follows the form."""


@view("teach.html")
async def teach(console: Console, request: Request, crawl: str, site: str) -> Found:
    """Ask about fetched pages."""
    client = console.source.client
    found, configured = await asyncio.gather(
        console.source.ask(client.suggest_examples, crawl=crawl, site=site, max_results=_CARDS),
        console.source.ask(client.get_crawl, crawl=crawl),
    )
    effect = _effects.get((console.source.target, crawl, site))
    return {"found": found, "examples": configured.examples, "effect": effect}


async def answer(request: Request) -> Response:
    """Take the answer to one question: wanted pages become examples, others feedback."""
    console, crawl, site = console_of(request), *request.path_params.values()
    form = await console.form_of(request)
    url, wanted = form.get("url", ""), form.get("answer", "")
    if wanted not in ("wanted", "unwanted"):
        raise HTTPException(400, "The answer must be wanted or unwanted.")
    before = await _order(console, crawl, site)
    client = console.source.client
    if wanted == "wanted":
        example = crawl_service_pb2.ExamplePage(url=url)
        await console.source.tell(client.update_crawl, crawl=crawl, examples=[example])
    else:
        feedback = link_scoring_service_pb2.Feedback(url=url, relevant=False)
        await console.source.tell(client.report_feedback, crawl=crawl, feedback=[feedback])
    said = f"{'Wanted' if wanted == 'wanted' else 'Not wanted'}: {words.shown(url, 120)}"
    await _remember(console, crawl, site, said, before)
    return back_to(words.site_url(crawl, site, "teach"))


async def example(request: Request) -> Response:
    """Take an example that was pasted: a URL, the HTML of a page, or both."""
    console, crawl, site = console_of(request), *request.path_params.values()
    form = await console.form_of(request, MAX_EXAMPLE_BYTES)
    url, body = form.get("url", "").strip(), form.get("body", "")
    made = crawl_service_pb2.ExamplePage(
        url=url,
        body=body.encode(),
        content_type="text/html; charset=utf-8" if body else "",
        page_type=form.get("page_type", "").strip(),
    )
    before = await _order(console, crawl, site)
    await console.source.tell(console.source.client.update_crawl, crawl=crawl, examples=[made])
    await _remember(console, crawl, site, f"Example: {words.shown(url, 120) or 'a page without URL'}", before)
    return back_to(words.site_url(crawl, site, "teach"))


async def _order(console: Console, crawl: str, site: str) -> Sequence[inspection_service_pb2.BucketStats]:
    """Return the groups of waiting links, best first, as they are this moment."""
    client = console.source.client
    return (await client.list_buckets(crawl=crawl, site=site, page_size=_COMPARED)).buckets


async def _remember(
    console: Console,
    crawl: str,
    site: str,
    said: str,
    before: Sequence[inspection_service_pb2.BucketStats],
) -> None:
    """Keep what an answer did to the order, for the page that is shown next."""
    after = await _order(console, crawl, site)
    key = (console.source.target, crawl, site)
    _effects[key] = Effect(said, moved(before, after))
    _effects.move_to_end(key)
    if len(_effects) > _MAX_EFFECTS:
        _effects.popitem(last=False)


def moved(
    before: Sequence[inspection_service_pb2.BucketStats], after: Sequence[inspection_service_pb2.BucketStats]
) -> list[Moved]:
    """Return the best groups now, each with its place before."""
    known = {_group(bucket): (place, bucket.value) for place, bucket in enumerate(before, 1)}
    return [
        Moved(bucket, place, *known.get(_group(bucket), (0, 0.0)))
        for place, bucket in enumerate(after[:_SHOWN], 1)
    ]


def _group(bucket: inspection_service_pb2.BucketStats) -> tuple[str, str]:
    return bucket.url_pattern, bucket.tag_path
