"""SuggestExamples: what a request asks for, and the answer."""

from __future__ import annotations

from collections.abc import Sequence

from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.types import ExampleWanted
from linkscore_server.grpc.convert.names import site_name
from linkscore_server.grpc.convert.sites import site_of

MAX_RESULTS = 100
_DEFAULT_RESULTS = 5


def asked(request: pb.SuggestExamplesRequest, crawl: str) -> tuple[int, str]:
    """Return how many pages are asked for, and of which site (empty: all).

    Raises
    ------
    InvalidInput
        If the site is too long or of another crawl, or too many pages are asked for.
    """
    if request.max_results > MAX_RESULTS:
        raise InvalidInput(f"must be at most {MAX_RESULTS}, got {request.max_results}", field="max_results")
    site = site_of(request.site, crawl, "site") if request.site else ""
    return request.max_results or _DEFAULT_RESULTS, site


def answer(
    crawl: str, found: Sequence[tuple[str, ExampleWanted]], *, policy: str, event_seq: int
) -> pb.SuggestExamplesResponse:
    """Return the answer, in the order given."""
    examples = [
        pb.SuggestedExample(
            url=wanted.url,
            site=site_name(crawl, site),
            reason=wanted.reason,
            likeness=wanted.label,
            pages_alike=wanted.pages,
        )
        for site, wanted in found
    ]
    return pb.SuggestExamplesResponse(examples=examples, policy=policy, event_seq=event_seq)
