"""The description of the calls says what the contract says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf import json_format
from jsonschema import Draft202012Validator

from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_server.json import OPENAPI
from linkscore_server.services.contract import METHODS


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(OPENAPI.read_text(encoding="utf-8"))
    return found


def refs(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"]
        for value in part.values():
            yield from refs(value)
    elif isinstance(part, list):
        for value in part:
            yield from refs(value)


def test_it_has_every_call(described: dict[str, Any]) -> None:
    assert set(described["paths"]) == {f"/linkscore.v1.{name}" for name in METHODS}


def test_all_it_refers_to_is_there_and_is_a_schema(described: dict[str, Any]) -> None:
    schemas = described["components"]["schemas"]
    assert {ref.rpartition("/")[2] for ref in refs(described)} == set(schemas)
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)


def test_an_answer_of_the_server_is_as_it_says(described: dict[str, Any]) -> None:
    answer = pb.IngestPagesResponse(policy="harvest")
    result = answer.results.add(event_seq=7, site="crawls/a/sites/h", stage=1, relevance=0.5)
    result.links.scores.extend([0.5, 1.0])
    result.links.ticket_values.append(b"\xff")
    result.links.statuses[3].code = 1
    valid = Draft202012Validator(
        {"$ref": "#/components/schemas/IngestPagesResponse", "components": described["components"]}
    )
    said = json_format.MessageToDict(answer)
    valid.validate(said)
    said["results"][0]["eventSeq"] = 7  # protobuf writes long numbers as texts
    assert not valid.is_valid(said)
