"""Rule files as an annex of the server: `ExportRules`, what it asks for and the answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, cast

from linkscore.v1 import site_model_service_pb2 as pb
from linkscore_scoring.errors import InvalidInput, NoRules
from linkscore_scoring.exporters import files
from linkscore_scoring.exporters.files import RuleFile
from linkscore_scoring.exporters.rules import SiteRules, TagPathRule, site_rules
from linkscore_scoring.types import UrlRule
from linkscore_server.grpc.convert.policies import choice_of
from linkscore_server.grpc.sites import SiteModelService
from linkscore_server.services import Host, Services

_MAX_WANTED = 16  # more than there are formats: a bound on the request
FORMATS = {
    name.removeprefix("RULE_FORMAT_").lower(): cast("pb.RuleFormat", number)
    for name, number in pb.RuleFormat.items()
    if number
}
"""Numbers of the contract by name, in the order of the contract."""

_NAMES = {number: name for name, number in FORMATS.items()}


class RuleFiles(Services):
    """Writes what was learned about the URLs of a site as files for crawlers."""

    def __init__(self, host: Host) -> None:
        self._sites = SiteModelService(host.registry)
        self.methods = {"SiteModelService/ExportRules": self.export_rules}

    async def export_rules(self, request: pb.ExportRulesRequest, context: Any) -> pb.ExportRulesResponse:
        """Return what was learned about URLs as files for crawlers."""
        actor, site = await self._sites.found(request.name)
        wanted, choice = wanted_formats(request), choice_of(request.policy)
        await actor.ask_for_model(site.name)
        found = site_rules(actor.model, site.name, choice, min_confidence=request.min_confidence)
        return exported_rules(found, wanted)


def wanted_formats(request: pb.ExportRulesRequest) -> list[str]:
    """Return the names of the formats wanted; empty means all that can say something.

    Raises
    ------
    InvalidInput
        If there are too many formats, one is not known or there twice, or the confidence is out of range.
    """
    if len(request.formats) > _MAX_WANTED:
        rule = f"must have at most {_MAX_WANTED} entries, got {len(request.formats)}"
        raise InvalidInput(rule, field="formats", reason="TOO_MANY_ITEMS")
    for row, number in enumerate(request.formats):
        if number not in _NAMES:
            raise InvalidInput(f"is not a known value, got {number}", field=f"formats[{row}]")
        if number in request.formats[:row]:
            raise InvalidInput("must be there once", field=f"formats[{row}]")
    if not (math.isfinite(request.min_confidence) and 0.0 <= request.min_confidence <= 1.0):
        rule = f"must be between 0 and 1, got {request.min_confidence}"
        raise InvalidInput(rule, field="min_confidence")
    return [_NAMES[number] for number in request.formats]


def exported_rules(site: SiteRules, wanted: Sequence[str]) -> pb.ExportRulesResponse:
    """Return the files wanted, and the rules in them.

    Raises
    ------
    NoRules
        If a format that was named can say nothing, or none can.
    """
    written = [(name, files.FORMATS[name](site)) for name in wanted] if wanted else list(_all_that_can(site))
    return pb.ExportRulesResponse(
        files=[_file(name, file) for name, file in written],
        url_rules=map(_url_rule, site.rules),
        denied_rules=map(_url_rule, site.denied),
        tag_path_rules=map(_tag_path_rule, site.tag_paths),
        policy=site.policy,
        policy_state=site.state,
        model_revision=site.revision,
        event_seq=site.event_seq,
    )


def _all_that_can(site: SiteRules) -> Iterator[tuple[str, RuleFile]]:
    """Yield what each format says, in the order of the contract; the first, JSON, can say all there is."""
    for name in FORMATS:
        try:
            yield name, files.FORMATS[name](site)
        except NoRules:
            if name == "json":
                raise


def _file(name: str, file: RuleFile) -> pb.RuleFile:
    return pb.RuleFile(
        format=FORMATS[name],
        name=file.name,
        media_type=file.media_type,
        content=file.text.encode(),
        notes=file.notes,
    )


def _url_rule(rule: UrlRule) -> pb.UrlRule:
    return pb.UrlRule(
        kind=rule.kind,
        pattern=rule.pattern,
        confidence=rule.confidence,
        match_count=rule.matches,
        total_count=rule.total,
        example_url=rule.example,
    )


def _tag_path_rule(rule: TagPathRule) -> pb.TagPathRule:
    return pb.TagPathRule(
        tag_path=rule.tag_path,
        source=rule.source,
        destination=rule.destination,
        destination_prob=rule.destination_prob,
        value=rule.value,
        link_count=rule.links,
    )
