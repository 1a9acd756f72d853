"""The driver of the Python clients: ``python -m linkscore_lab.conformance.python_driver [--aio]``."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc

from linkscore import AsyncClient, Client, errors, page, rows, ticket_bytes, ticket_text
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

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
        method, arguments, read = _CALLS[call](command)
        if "timeout_ms" in command:
            arguments["timeout_s"] = command["timeout_ms"] / 1000
        return read(self.made_call(method, arguments, command.get("cancel_after_ms")))

    def made(self, **options: Any) -> Any:
        """Return a client."""
        return Client(**options)

    def made_call(self, method: str, arguments: Command, cancel_after_ms: float | None) -> Any:
        """Call a method of the client; a blocking call is given up by closing its client."""
        if cancel_after_ms is not None:
            threading.Timer(cancel_after_ms / 1000, self._client.close).start()
        answered = getattr(self._client, method)(crawl=arguments.pop("crawl"), **arguments)
        return list(answered) if method == "stream_pages" else answered

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
            if method == "stream_pages":
                arguments["pages"] = _one_by_one(arguments["pages"])
            made = getattr(self._client, method)(crawl=arguments.pop("crawl"), **arguments)
            return [each async for each in made] if method == "stream_pages" else await made

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


async def _one_by_one(pages: list[common_pb2.Page]) -> AsyncIterator[common_pb2.Page]:
    for each in pages:
        yield each


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


Call = tuple[str, Command, Callable[[Any], Command]]
"""Method, its arguments, and what to tell of its answer."""


def _ensure(said: Command) -> Call:
    arguments: Command = {key: said[key] for key in ("crawl", "policy") if key in said}
    return "ensure_crawl", arguments, lambda _: {}


def _ingest(said: Command) -> Call:
    arguments = {"crawl": said["crawl"], "pages": [_page(each) for each in said["pages"]]}
    return "ingest_pages", arguments, lambda got: {"links": [_links(each.links) for each in got.results]}


def _stream(said: Command) -> Call:
    _, arguments, _ = _ingest(said)
    return "stream_pages", arguments, lambda got: {"links": [_links(each.result.links) for each in got]}


def _failed(said: Command) -> Call:
    arguments = {"crawl": said["crawl"], "url": said["url"], "ticket": _ticket(said)}
    why = {"status_code": said.get("status", 0), "fetch_error": said.get("error", "")}
    return "report_failure", arguments | why, lambda _: {}


def _rank(said: Command) -> Call:
    buckets = said["buckets"]

    def read(got: scoring_pb2.RankBucketsResponse) -> Command:
        return {"values": {buckets[at]: value for at, value in zip(got.order, got.values, strict=True)}}

    return "rank_buckets", {"crawl": said["crawl"], "buckets": buckets}, read


def _score(said: Command) -> Call:
    links = [(link["url"], _ticket(link)) for link in said["links"]]

    def read(got: scoring_pb2.ScoreLinksResponse) -> Command:
        told = _links(got.links)
        return {"links": [row | {"url": url} for row, (url, _) in zip(told, links, strict=True)]}

    return "score_links", {"crawl": said["crawl"], "links": links}, read


def _reward(said: Command) -> Call:
    arguments = {"crawl": said["crawl"], "url": said["url"], "ticket": _ticket(said)}
    return "reward", arguments | {"reward": said["worth"]}, lambda _: {}


def _notify(said: Command) -> Call:
    arguments: Command = {"crawl": said["crawl"], "urls": said["urls"]}
    if "changed_ms" in said:
        arguments["change_time"] = datetime.fromtimestamp(said["changed_ms"] / 1000, UTC)
    return "notify_changed", arguments, lambda got: {"outcomes": [each.outcome for each in got.statuses]}


def _explain(said: Command) -> Call:
    def read(got: scoring_pb2.ScoreLinksResponse) -> Command:
        errors.raise_if_invalid(got.explanations[0].status)
        return {"score": got.explanations[0].score}

    links = [(said["url"], _ticket(said))]
    return "explain_links", {"crawl": said["crawl"], "links": links}, read


_CALLS: dict[str, Callable[[Command], Call]] = {
    "ensure": _ensure,
    "ingest": _ingest,
    "stream": _stream,
    "failed": _failed,
    "rank": _rank,
    "score": _score,
    "reward": _reward,
    "notify": _notify,
    "explain": _explain,
}

if __name__ == "__main__":
    at_work = AsyncClients() if "--aio" in sys.argv else Clients()
    for asked in sys.stdin:
        print(answer(at_work, asked), flush=True)
    at_work.close()
