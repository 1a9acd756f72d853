"""The frontier: groups of waiting links by value, and why one URL has its score."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from linkscore.errors import InvalidArgument
from linkscore.v1 import inspection_service_pb2, link_scoring_service_pb2
from linkscore_console.page import console_of, page_number, policy_asked, site_of

_ROWS = 50
"""Groups of a page."""
_BARS = ("reward", "hub", "exploration", "curiosity")
"""Terms of harvest that make up a value, in the order they are stacked."""


async def frontier(request: Request) -> Response:
    """Show what waits, best first, and explain a URL if one is given."""
    console, (crawl, site) = console_of(request), site_of(request)
    source = console.source
    policy, choices = await policy_asked(request)
    found = await source.ask(
        source.client.list_buckets,
        crawl=crawl,
        site=site,
        policy=None if policy == choices[0] else policy,
        page_size=_ROWS,
        page_token=page_number(request),
    )
    url = request.query_params.get("url", "").strip()
    explained, problem = None, ""
    if url:
        try:
            answer = await source.ask(source.client.explain_links, crawl=crawl, links=((url, b""),))
            explained, problem = _readable(answer)
        except InvalidArgument as error:
            problem = "; ".join(v.description for v in error.field_violations) or str(error)
    return console.render(
        request,
        "frontier.html",
        crawl=crawl,
        site=site,
        found=found,
        first=int(page_number(request) or 0) + 1,
        parts=[_parts(bucket) for bucket in found.buckets],
        policy=policy,
        choices=choices,
        asked_url=url,
        explained=explained,
        problem=problem,
    )


def _readable(
    answer: link_scoring_service_pb2.ScoreLinksResponse,
) -> tuple[link_scoring_service_pb2.LinkExplanation | None, str]:
    """Return the explanation of the one URL asked about, or what is wrong with it."""
    found = answer.explanations[0]
    if found.status.problems:
        return None, "; ".join(problem.description for problem in found.status.problems)
    return found, ""


def _parts(bucket: inspection_service_pb2.BucketStats) -> list[tuple[str, float, float]]:
    """Return what a value is made of as (name, start, width) of a bar, in per cent of the greatest value.

    A score is v / (1 + v) of the sum v of its parts; each part gets its share of the score. Policies that
    name no such parts have one bar.
    """
    terms = {term.name: max(0.0, term.value) for term in bucket.terms if term.name in _BARS}
    total = sum(terms.values())
    if not total:
        return [("value", 0.0, 100.0 * bucket.value)]
    parts, start = [], 0.0
    for name in _BARS:
        if width := 100.0 * bucket.value * terms.get(name, 0.0) / total:
            parts.append((name, start, width))
            start += width
    return parts
