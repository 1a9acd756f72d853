"""A bare grpc.aio server to compare with, ``python -m benchmarks.bare_server``: echoes, parses with lxml."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import grpc
import lxml.html
import msgpack

from linkscore.v1 import link_scoring_service_pb2 as pb

PARSE = "/bench.Bare/Parse"
_OPTIONS = [("grpc.max_receive_message_length", 64 << 20), ("grpc.max_send_message_length", 64 << 20)]


async def parse(request: bytes, context: Any) -> bytes:
    """Parse every body of a msgpack list of bodies, and send the bytes back."""
    for body in msgpack.unpackb(request):
        lxml.html.document_fromstring(body)
    return request


async def echo(request: pb.ScoreLinksRequest, context: Any) -> pb.ScoreLinksRequest:
    """Send the message back."""
    return request


async def main() -> None:
    """Serve on a free port of loopback until SIGTERM."""
    message = pb.ScoreLinksRequest
    handlers = {
        "Parse": grpc.unary_unary_rpc_method_handler(parse),
        "Echo": grpc.unary_unary_rpc_method_handler(echo, message.FromString, message.SerializeToString),
    }
    server = grpc.aio.server(options=_OPTIONS)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("bench.Bare", handlers)])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    print(f"serving on 127.0.0.1:{port}", flush=True)
    await stopping.wait()
    await server.stop(1.0)


if __name__ == "__main__":
    asyncio.run(main())
