"""The services of the contract as gRPC takes them, each call handed to one who answers any."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Container
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any, Protocol

from linkscore_server.grpc.contract import SERVICES


class AnswersAll(Protocol):
    """Answers every call of the contract by its name, ``Service/Method``."""

    async def call(self, method: str, request: Any, context: Any) -> Any:
        """Answer a call that has one request and one answer."""

    def stream(self, method: str, requests: AsyncIterator[Any], context: Any) -> AsyncGenerator[Any, None]:
        """Answer a stream with a stream."""

    async def collect(self, method: str, requests: AsyncIterator[Any], context: Any) -> Any:
        """Answer a stream with one message."""


def servicers_of(answers: AnswersAll, there: Container[str] = SERVICES) -> dict[str, Any]:
    """Return services that are there, all of whose calls somebody answers."""
    return {
        name: SimpleNamespace(
            **{
                method.name: _handler(answers, f"{name}/{method.name}", method)
                for method in file.services_by_name[name].methods
            }
        )
        for name, file in SERVICES.items()
        if name in there
    }


def _handler(answers: AnswersAll, name: str, method: Any) -> Any:
    async def answer(request: Any, context: Any) -> Any:
        return await answers.call(name, request, context)

    async def stream(requests: AsyncIterator[Any], context: Any) -> AsyncGenerator[Any, None]:
        async with aclosing(answers.stream(name, requests, context)) as responses:
            async for response in responses:
                yield response

    async def collect(requests: AsyncIterator[Any], context: Any) -> Any:
        return await answers.collect(name, requests, context)

    if method.server_streaming:
        return stream
    return collect if method.client_streaming else answer
