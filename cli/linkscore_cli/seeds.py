"""`linkscore seeds`: where a crawl of a site should start."""

from __future__ import annotations

import grpc
from rich.console import Console
from rich.text import Text

from linkscore.v1 import site_model_service_pb2 as pb
from linkscore.v1 import site_model_service_pb2_grpc as pb_grpc
from linkscore_cli.policy import spec_of_name

_TIMEOUT_S = 60.0


def print_seeds(
    site: str, *, crawl: str, target: str, policy: str, most: int, console: Console | None = None
) -> int:
    """Print the pages to start from, best first, one a line with worth and reason; return the exit code."""
    console = console or Console()
    request = pb.SuggestSeedsRequest(
        crawl=f"crawls/{crawl}", site=site, policy=spec_of_name(policy), max_results=max(1, most)
    )
    try:
        with grpc.insecure_channel(target) as channel:
            answer = pb_grpc.SiteModelServiceStub(channel).SuggestSeeds(request, timeout=_TIMEOUT_S)
    except grpc.RpcError as error:
        console.print(Text(f"{error.code().name}: {error.details()}"))
        return 1
    for seed in answer.seeds:
        console.print(Text(f"{seed.value:.2f}  {seed.url}  {seed.reason}"), soft_wrap=True)
    if not answer.seeds:
        state = f": {answer.policy_state}" if answer.policy_state else ""
        console.print(Text(f"{answer.policy} suggests no page{state}"))
    return 0
