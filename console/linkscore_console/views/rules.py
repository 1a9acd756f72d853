"""What was learned as files for crawlers, and what browse logs there are."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from linkscore.errors import FailedPrecondition
from linkscore.v1 import browse_log_service_pb2, site_model_service_pb2
from linkscore_console.page import console_of, policy_asked, site_of

_PREVIEW_LINES = 60
"""Lines of a file that are shown before it is downloaded."""
_FORMATS = {
    site_model_service_pb2.RuleFormat.Name(value).removeprefix("RULE_FORMAT_").lower(): value
    for value in site_model_service_pb2.RuleFormat.values()
    if value
}


async def rules(request: Request) -> Response:
    """Show the files, and the state of browse logs."""
    console, (crawl, site) = console_of(request), site_of(request)
    source = console.source
    policy, choices = await policy_asked(request)
    found, stats, about = await asyncio.gather(
        _exported(request, policy, choices),
        source.ask(source.client.get_browse_stats, crawl=crawl),
        source.ask(source.client.get_site, crawl=crawl, site=site),
    )
    files = [(_format_of(file), file, _preview(file.content)) for file in found.files] if found else []
    there = {name for name, _, _ in files}
    return console.render(
        request,
        "rules.html",
        crawl=crawl,
        site=site,
        found=found,
        files=files,
        without=[name.capitalize() for name in _FORMATS if name not in there],
        policy=policy,
        choices=choices,
        stats=stats,
        logs=_logs_of(stats, site),
        policy_state=(found.policy_state if found else "") or about.policy_state,
    )


async def download(request: Request) -> Response:
    """Send one file."""
    wanted = request.path_params["format"]
    if wanted not in _FORMATS:
        raise HTTPException(404, f"There is no format of this name; there are {', '.join(_FORMATS)}.")
    found = await _exported(request, *await policy_asked(request))
    for file in found.files if found else ():
        if file.format == _FORMATS[wanted]:
            # As plain text whatever it is: what a file says came from pages.
            headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
            return Response(file.content, media_type="text/plain; charset=utf-8", headers=headers)
    raise HTTPException(404, "Nothing was learned yet that this format can say.")


async def _exported(
    request: Request, policy: str, choices: Sequence[str]
) -> site_model_service_pb2.ExportRulesResponse | None:
    """Return the files of a policy; None if nothing was learned yet."""
    source, (crawl, site) = console_of(request).source, site_of(request)
    asked = None if policy == choices[0] else policy
    try:
        return await source.ask(source.client.export_rules, crawl=crawl, site=site, policy=asked)
    except FailedPrecondition:
        return None


def _format_of(file: site_model_service_pb2.RuleFile) -> str:
    return next(name for name, value in _FORMATS.items() if value == file.format)


def _preview(content: bytes) -> tuple[str, int]:
    """Return the first lines of a file, and how many more there are."""
    lines = content.decode(errors="replace").splitlines()
    return "\n".join(line[:400] for line in lines[:_PREVIEW_LINES]), max(0, len(lines) - _PREVIEW_LINES)


def _logs_of(
    stats: browse_log_service_pb2.GetBrowseStatsResponse, site: str
) -> browse_log_service_pb2.BrowseSite | None:
    return next((one for one in stats.sites if one.site == site), None)
