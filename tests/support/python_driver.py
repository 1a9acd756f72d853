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


def answer(clients: Clients, line: str) -> str:
    """Carry out one command."""
    try:
        return json.dumps({"ok": clients.carry_out(json.loads(line))})
    except errors.LinkscoreError as error:
        return json.dumps({"error": _told(error)})


class Clients:
    """The client that is connected, blocking."""

    def __init__(self) -> None:
        self._client: Any = None

    def carry_out(self, command: Command) -> Command:
        """Make the call a command names; returns what the runner wants to know of its answer."""
        call = command["call"]
        if call in ("connect", "close"):
            self.close()
            if call == "connect":
                self._client = self.made(**_connection(command))
            return {}
        method, arguments, read = _CALLS[call]
        given = {"crawl": command["crawl"], **arguments(command)}
        if "timeout_ms" in command:
            given["timeout_s"] = command["timeout_ms"] / 1000
        return read(self.made_call(method, given, command.get("cancel_after_ms")), command)

    def made(self, **options: Any) -> Any:
        """Return a client."""
        return Client(**options)

    def made_call(self, method: str, arguments: Command, cancel_after_ms: float | None) -> Any:
        """Call a method of the client; a blocking call is given up by closing its client."""
        if cancel_after_ms is not None:
            threading.Timer(cancel_after_ms / 1000, self._client.close).start()
        return getattr(self._client, method)(**arguments)

    def close(self) -> None:
        """Close the client, if one is connected."""
        if self._client is not None:
            self._client.close()
            self._client = None


class AsyncClients(Clients):
    """The client that is connected, on an event loop."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.new_event_loop()

    def made(self, **options: Any) -> Any:
        async def make() -> AsyncClient:
            return AsyncClient(**options)

        return self._loop.run_until_complete(make())

    def made_call(self, method: str, arguments: Command, cancel_after_ms: float | None) -> Any:
        async def call() -> Any:
            return await getattr(self._client, method)(**arguments)

        async def call_and_give_up(after_s: float) -> Any:
            task = asyncio.create_task(call())
            await asyncio.sleep(after_s)
            task.cancel()
            try:
                return await task
            except asyncio.CancelledError:  # what asyncio has in place of an error of the client
                raise errors.LinkscoreError("cancelled", code=grpc.StatusCode.CANCELLED) from None

        return self._loop.run_until_complete(
            call() if cancel_after_ms is None else call_and_give_up(cancel_after_ms / 1000)
        )

    def close(self) -> None:
        if self._client is not None:
            self._loop.run_until_complete(self._client.close())
            self._client = None


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
    at_work = AsyncClients() if "--aio" in sys.argv else Clients()
    for asked in sys.stdin:
        print(answer(at_work, asked), flush=True)
    at_work.close()
