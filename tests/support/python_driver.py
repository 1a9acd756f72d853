"""The driver of the Python clients, blocking or (``--aio``) for asyncio."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import grpc

from linkscore import AsyncClient, Client, errors, page, rows, ticket_bytes, ticket_text
from linkscore.v1 import common_pb2

Command = dict[str, Any]


class Clients:
    """The client that is connected: blocking, or on an event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self._loop = loop
        self._client: Any = None

    def answer(self, line: str) -> str:
        """Carry out one command."""
        try:
            return json.dumps({"ok": self._carry_out(json.loads(line))})
        except errors.LinkscoreError as error:
            return json.dumps({"error": _told(error)})

    def _carry_out(self, command: Command) -> Command:
        """Make the call a command names; returns what the runner wants to know of its answer."""
        call = command["call"]
        if call in ("connect", "close"):
            self.close()
            if call == "connect":
                options = _connection(command)
                self._client = self._ended(_made(options)) if self._loop else Client(**options)
            return {}
        method, arguments, read = _CALLS[call]
        given = {"crawl": command["crawl"], **arguments(command)}
        if "timeout_ms" in command:
            given["timeout_s"] = command["timeout_ms"] / 1000
        after_s = command["cancel_after_ms"] / 1000 if "cancel_after_ms" in command else None
        if after_s is not None and not self._loop:  # a blocking call is given up by closing its client
            threading.Timer(after_s, self._client.close).start()
        made = getattr(self._client, method)(**given)
        return read(self._ended(_given_up(made, after_s)) if self._loop else made, command)

    def _ended(self, work: Any) -> Any:
        return self._loop.run_until_complete(work) if self._loop else work

    def close(self) -> None:
        """Close the client, if one is connected."""
        if self._client is not None:
            self._ended(self._client.close())
            self._client = None


async def _made(options: Command) -> AsyncClient:
    return AsyncClient(**options)


async def _given_up(call: Any, after_s: float | None) -> Any:
    try:
        return await asyncio.wait_for(call, after_s)
    except TimeoutError:  # what asyncio has in place of an error of the client
        raise errors.LinkscoreError("cancelled", code=grpc.StatusCode.CANCELLED) from None


def _connection(command: Command) -> Command:
    options: Command = {"target": command["target"], "token": command.get("token")}
    if "token_file" in command:
        options["token_file"] = command["token_file"]
    if "timeout_ms" in command:
        options["timeout_s"] = command["timeout_ms"] / 1000
    if "ca" in command:
        parts = (Path(command[k]).read_bytes() if k in command else None for k in ("ca", "key", "cert"))
        options["tls"] = grpc.ssl_channel_credentials(*parts)
    return options


def _told(error: errors.LinkscoreError) -> Command:
    number, _ = error.code.value
    return {
        "code": number,
        "reason": error.reason,
        "retry_after_ms": (error.retry_after_s or 0) * 1000,
        "violations": [{"field": v.field, "description": v.description} for v in error.field_violations],
        "metadata": error.metadata,
    }


def _page(said: Command) -> common_pb2.Page:
    body = said.get("body")
    made = bytes(said["body_bytes"]) if "body_bytes" in said else body.encode() if body is not None else None
    return page(
        url=said["url"],
        final_url=said.get("final_url", ""),
        status_code=said.get("status", 0),
        body=made,
        ticket=_ticket(said),
    )


def _ticket(said: Command) -> bytes:
    return ticket_bytes(said.get("ticket", ""))


def _links(links: common_pb2.LinkScores) -> list[Command]:
    return [
        {
            "url": row.url,
            "score": row.score,
            "bucket": row.bucket,
            "value": row.bucket_value,
            "ticket": ticket_text(row.ticket),
            "usable": row.usable,
            "in_scope": row.in_scope,
        }
        for row in rows(links)
    ]


class Call(NamedTuple):
    """How a command is carried out: method of the client, its arguments, and what to tell of the answer."""

    method: str
    arguments: Callable[[Command], Command]
    read: Callable[[Any, Command], Command] = lambda got, said: {}


_CALLS = {
    "ensure": Call("ensure_crawl", lambda said: {"policy": said["policy"]} if "policy" in said else {}),
    "ingest": Call(
        "ingest_pages",
        lambda said: {"pages": list(map(_page, said["pages"]))},
        lambda got, said: {"links": [_links(each.links) for each in got.results]},
    ),
    "failed": Call(
        "report_failure",
        lambda said: {
            "url": said["url"],
            "ticket": _ticket(said),
            "status_code": said.get("status", 0),
            "fetch_error": said.get("error", ""),
        },
    ),
    "rank": Call(
        "rank_buckets",
        lambda said: {"buckets": said["buckets"]},
        lambda got, said: {
            "values": {said["buckets"][at]: value for at, value in zip(got.order, got.values, strict=True)}
        },
    ),
    "reward": Call(
        "reward", lambda said: {"url": said["url"], "ticket": _ticket(said), "reward": said["worth"]}
    ),
}
"""By the name of the command; all name their crawl too."""

if __name__ == "__main__":
    at_work = Clients(asyncio.new_event_loop() if "--aio" in sys.argv else None)
    for asked in sys.stdin:
        print(at_work.answer(asked), flush=True)
    at_work.close()
