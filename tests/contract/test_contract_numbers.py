"""Numbers that are not finite, or so large that sums of them would not be, break no call and no crawl."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from linkscore.v1 import crawl_service_pb2
from linkscore_server.services.contract import METHODS
from support.crawl_calls import ingest
from support.server_process import Stubs
from support.small_site import HOST, page

WORST: dict[int, list[Any]] = {
    FieldDescriptor.TYPE_DOUBLE: [math.nan, math.inf, -math.inf, 1e308, -1.0],
    FieldDescriptor.TYPE_FLOAT: [math.nan, math.inf],
    FieldDescriptor.TYPE_INT64: [2**63 - 1, -(2**63)],
    FieldDescriptor.TYPE_UINT64: [2**64 - 1],
    FieldDescriptor.TYPE_INT32: [2**31 - 1, -(2**31)],
    FieldDescriptor.TYPE_UINT32: [2**32 - 1],
    FieldDescriptor.TYPE_ENUM: [99],
}
REFUSALS = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.UNIMPLEMENTED,  # browse logs, by a server over a database
}
Path = tuple[FieldDescriptor, ...]


def numbers(message: Descriptor, seen: tuple[Descriptor, ...] = ()) -> Iterator[Path]:
    """Every number of a message, by the fields that lead to it."""
    for field in message.fields:
        inner = field.message_type
        if field.type in WORST:
            yield (field,)
        elif inner is not None and inner not in seen and inner.full_name != "google.protobuf.Struct":
            yield from ((field, *path) for path in numbers(inner, (*seen, inner)))


def request_of(crawl: str, method: Any, path: Path, number: Any) -> Any:
    """A call that makes sense but for one number."""
    made = GetMessageClass(method.input_type)()
    at_site = {"crawl": crawl, "name": crawl if "Crawl" in method.name else f"{crawl}/sites/{HOST}"}
    for name in at_site.keys() & made.DESCRIPTOR.fields_by_name.keys():
        if made.DESCRIPTOR.fields_by_name[name].message_type is None:
            setattr(made, name, at_site[name])
        else:
            made.crawl.name = crawl
    if "pages" in made.DESCRIPTOR.fields_by_name:
        made.pages.add().CopyFrom(page(1))
    if "feedback" in made.DESCRIPTOR.fields_by_name:
        made.feedback.add(url=page(0).url, reward=0.5)
    at = made
    for field in path[:-1]:
        part = getattr(at, field.name)
        if field.is_repeated and not field.message_type.GetOptions().map_entry:
            at = part[0] if len(part) else part.add()
        else:
            at = part
    if not hasattr(at, path[-1].name):  # the value of a map
        at["x"] = number
    elif path[-1].is_repeated:
        getattr(at, path[-1].name).append(number)
    else:
        setattr(at, path[-1].name, number)
    return made


@pytest.mark.long
def test_no_number_of_any_call_breaks_it_or_what_comes_after_it(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, page(0))
    broken = []
    for name, method in METHODS.items():
        if method.name == "DeleteCrawl":
            continue
        call = server.channel.unary_unary(f"/linkscore.v1.{name}")
        for path in numbers(method.input_type):
            for number in WORST[path[-1].type]:
                try:
                    call(request_of(crawl, method, path, number).SerializeToString(), timeout=60)
                except grpc.RpcError as error:
                    if error.code() not in REFUSALS:
                        broken.append((method.name, [f.name for f in path], number, error.code()))
    assert broken == []
    listed = server.crawls.ListCrawls(crawl_service_pb2.ListCrawlsRequest(page_size=1_000)).crawls
    assert crawl in [each.name for each in listed]
    shown = server.crawls.GetCrawl(crawl_service_pb2.GetCrawlRequest(name=crawl, with_activity=True))
    assert shown.crawl.page_count >= 1
