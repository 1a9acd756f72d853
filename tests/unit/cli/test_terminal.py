"""What sites, crawls and servers are called cannot steer the terminal of who looks at them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from click.testing import CliRunner
from google.protobuf import message_factory
from google.protobuf.message import Message

from linkscore_cli.main import main
from linkscore_server.services.contract import SERVICES

EVIL = "http://h/\x1b]0;owned\x07\x1b[2J\x9b1m\r\u202eabc"
COMMANDS = [
    "crawls list",
    "crawls show",
    "crawls shards",
    "logs mine",
    "advise h",
    "revisits",
    "revisits h",
    "seeds h",
    "skipped h",
    "score http://h/x",
    "score --why http://h/x",
]


def fill(message: Message) -> Message:
    """Put what steers a terminal into every text of a message, one row in every list."""
    for field in message.DESCRIPTOR.fields:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            continue
        if field.message_type is not None:
            part = getattr(message, field.name)
            if field.message_type.full_name.startswith("linkscore.v1.Policy"):
                continue
            fill(part.add() if field.is_repeated else part)
        elif field.type == field.TYPE_STRING and field.name != "next_page_token":
            if field.is_repeated:
                getattr(message, field.name).append(EVIL)
            else:
                setattr(message, field.name, EVIL)
        elif field.is_repeated:
            getattr(message, field.name).append(b"" if field.type == field.TYPE_BYTES else 0)
    return message


@pytest.fixture
def target() -> Iterator[str]:
    def handler(method: Any) -> Any:
        answer = fill(message_factory.GetMessageClass(method.output_type)()).SerializeToString()

        def call(request: bytes, context: grpc.ServicerContext) -> bytes:
            if b"refuse" in request:
                context.abort(grpc.StatusCode.NOT_FOUND, EVIL.encode("ascii", "replace").decode())
            return answer

        return grpc.unary_unary_rpc_method_handler(call)

    server = grpc.server(ThreadPoolExecutor(2))
    for name, file in SERVICES.items():
        service = file.services_by_name[name]
        handlers = {method.name: handler(method) for method in service.methods}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service.full_name, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("crawl", ["c", "refuse"])
def test_no_command_prints_what_steers_a_terminal(command: str, crawl: str, target: str) -> None:
    env = {"LINKSCORE_TARGET": target, "LINKSCORE_CRAWL": crawl, "COLUMNS": "200"}
    got = CliRunner(env=env).invoke(main, command.split())
    assert "owned" in got.output, got.output
    assert not set(got.output) & set("\x1b\x07\x9b\r\u202e")
