"""SuggestSeeds: what a request asks for, and the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linkscore.v1 import site_model_service_pb2 as pb
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.types import SeedWanted
from linkscore_scoring.urls.identity import validate_url
from linkscore_server.grpc.convert.names import site_name
from linkscore_server.grpc.convert.sites import site_of

MAX_RESULTS = 1_000
_DEFAULT_RESULTS = 16


def asked(request: pb.SuggestSeedsRequest, crawl: str, site_of_url: Callable[[str], str]) -> tuple[str, int]:
    """Return the site that is asked about, by name or by a URL of it, and how many pages are wanted.

    Raises
    ------
    InvalidInput
        If the site is missing, too long, of another crawl or no URL, or too many pages are asked for.
    """
    if request.max_results > MAX_RESULTS:
        raise InvalidInput(f"must be at most {MAX_RESULTS}, got {request.max_results}", field="max_results")
    n = request.max_results or _DEFAULT_RESULTS
    if "://" not in request.site:
        return site_of(request.site, crawl, "site"), n
    validate_url(request.site, "site", error=InvalidInput)
    return site_of_url(request.site), n


def answer(
    crawl: str, site: str, found: Sequence[SeedWanted], *, policy: str, state: str, event_seq: int
) -> pb.SuggestSeedsResponse:
    """Return the answer, best page first."""
    return pb.SuggestSeedsResponse(
        seeds=[pb.Seed(url=seed.url, reason=seed.reason, value=seed.value) for seed in found],
        site=site_name(crawl, site),
        policy=policy,
        policy_state=state,
        event_seq=event_seq,
    )
