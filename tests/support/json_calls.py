"""Calls in JSON over HTTP to a server of a test."""

from __future__ import annotations

import http.client
import json
import re
from contextlib import closing
from typing import Any

from google.protobuf import json_format

from support.server_process import PATIENCE_S, ServerProcess

JSON = ("--json-listen", "127.0.0.1:0")


def port_of(process: ServerProcess) -> int:
    return next(
        int(found[1])
        for record in reversed(process.records())
        if (found := re.fullmatch(r"JSON on .*:(\d+)", record.get("message", "")))
    )


class Posted:
    """What a call in JSON was answered."""

    def __init__(self, status: int, body: bytes, retry_after: str | None) -> None:
        self.status = status
        self.retry_after = retry_after
        self.said: dict[str, Any] = json.loads(body)

    @property
    def reason(self) -> str:
        return str(self.said["details"][0]["debug"]["reason"])


def post(process: ServerProcess, call: str, request: Any, *, token: str = "", tls: Any = None) -> Posted:
    """Make a call; `request` is a message, or bytes."""
    port = port_of(process)
    connection = (
        http.client.HTTPSConnection("localhost", port, timeout=PATIENCE_S, context=tls)
        if tls
        else http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    )
    body = request if isinstance(request, bytes) else json_format.MessageToJson(request).encode()
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})
    with closing(connection):
        connection.request("POST", f"/linkscore.v1.{call}", body, headers)
        answer = connection.getresponse()
        return Posted(answer.status, answer.read(), answer.headers["retry-after"])
