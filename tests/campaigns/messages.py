"""Requests of any shape, made from the contract's own descriptors: likely values, odd ones, broken bytes."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from campaigns import bodies
from linkscore.v1 import common_pb2, policy_pb2
from support.small_site import HOST, ROOT, page, url_of

_ODD_TEXTS = (
    "", " ", "\x00", "\ud7ff", "é" * 3, "中文", "a" * 300, "a/b/c", "../..", "%00%zz", "crawls/",
    "crawls/a/sites/", "http://", "http://[::1]:99999/", "javascript:x", "-1", "1e999", "\u202e", "*",
    "(a+)+$", "a" * 20_000,
)  # fmt: skip
_ODD_INTS = (
    0, 0, 1, 1, 2, 3, 7, 100, 1_000, 1_001, 65_536, 2**31 - 1, 2**31, 2**32 - 1, 2**53 + 1, 2**63 - 1,
    2**64 - 1, -1, -(2**31), -(2**63),
)  # fmt: skip
_ODD_FLOATS = (
    0.0,
    0.5,
    1.0,
    1.0000001,
    -0.0,
    -1.0,
    0.1,
    5e-324,
    1e308,
    float("inf"),
    float("-inf"),
    float("nan"),
)
_SMALL = (0, 1, 1, 2, 3, 8)
_DEEP = 5  # messages in one another: a policy that falls back on one that falls back
_LINK_TAGS = ("html/body/a",
    "html/body/div[nav]/a[home]", "html/body/div[x y]/ul[z]/li[]/a[b]", "a", "///", "html/body",
)  # fmt: skip
_INT_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}


class Messages:
    """Makes requests; knows the values of earlier answers, so that requests ask for what is there.

    Parameters
    ----------
    rng
        Decides everything.
    crawls
        Names of crawls that exist.
    """

    def __init__(self, rng: random.Random, crawls: Iterable[str]) -> None:
        self._rng = rng
        self._crawls = list(crawls)
        self._seen: defaultdict[str, list[Any]] = defaultdict(list)
        self._number = 0

    def learn(self, answer: Message) -> None:
        """Keep names, URLs, tickets and buckets of an answer for later requests."""
        for field, value in answer.ListFields():
            values = list(value)[:5] if field.is_repeated else [value]
            if field.message_type is not None:
                if not field.message_type.GetOptions().map_entry:
                    for each in values:
                        self.learn(each)
            elif field.name in _KINDS and isinstance(values[0], str | bytes):
                kept = self._seen[_KINDS[field.name]]
                kept += values
                del kept[:-50]

    def requests(self, method: MethodDescriptor) -> list[bytes]:
        """Return the request of a call."""
        return [self._request(method.input_type)]

    def _request(self, descriptor: Descriptor) -> bytes:
        """Return the bytes of a request: mostly one that makes sense, one in eight not even a message."""
        made = self._filled(descriptor, 0)
        raw = made.SerializeToString()
        return self._broken(raw) if self._rng.random() < 0.12 else raw

    def page(self) -> Any:
        """Return a page: one of a small site half of the time, else one with fields of any value."""
        if self._rng.random() < 0.5:
            self._number += 1
            return page(self._rng.randrange(200), event_id=f"p{self._number}")
        return self._filled(common_pb2.Page.DESCRIPTOR, 0)

    def policy(self) -> Any:
        """Return any policy with parameters of any value, most of them as they come."""
        return self._filled(policy_pb2.PolicySpec.DESCRIPTOR, 0)

    def _filled(self, descriptor: Descriptor, depth: int) -> Any:
        message = GetMessageClass(descriptor)()
        rng = self._rng
        chosen = {oneof.name: rng.choice(oneof.fields).name for oneof in descriptor.oneofs}
        for field in descriptor.fields:
            oneof = field.containing_oneof
            if oneof is not None and len(oneof.fields) > 1 and chosen[oneof.name] != field.name:
                continue
            if rng.random() < self._chance(descriptor, field, depth):
                self._fill(message, field, depth)
        return message

    def _chance(self, descriptor: Descriptor, field: FieldDescriptor, depth: int) -> float:
        if field.message_type is not None and depth >= _DEEP:
            return 0.0
        if descriptor.name.endswith("Params"):
            return 0.1
        if field.name in (
            "crawl",
            "name",
            "url",
            "pages",
            "page",
            "links",
            "feedback",
            "batch_id",
            "sites",
        ):
            return 0.97
        return 0.15 if field.name in ("policy", "outlinks", "fetch_error", "final_url", "examples") else 0.5

    def _fill(self, message: Any, field: FieldDescriptor, depth: int) -> None:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            target = getattr(message, field.name)
            key, value = field.message_type.fields
            for _ in range(self._rng.choice(_SMALL)):
                if value.message_type is None:
                    target[self._value(message, key, depth)] = self._value(message, value, depth)
        elif field.is_repeated:
            n = self._rng.choice(_SMALL) if self._rng.random() < 0.98 else 200
            getattr(message, field.name).extend(self._value(message, field, depth) for _ in range(n))
        elif field.message_type is not None:
            getattr(message, field.name).CopyFrom(self._value(message, field, depth))
            getattr(message, field.name).SetInParent()
        else:
            setattr(message, field.name, self._value(message, field, depth))

    def _value(self, message: Any, field: FieldDescriptor, depth: int) -> Any:
        rng, kind = self._rng, field.cpp_type
        if kind == FieldDescriptor.CPPTYPE_MESSAGE:
            if field.message_type.full_name == "linkscore.v1.Page" and rng.random() < 0.5:
                return self.page()
            return self._filled(field.message_type, depth + 1)
        if kind == FieldDescriptor.CPPTYPE_ENUM:
            return rng.choice([value.number for value in field.enum_type.values] + [99])
        if kind == FieldDescriptor.CPPTYPE_BOOL:
            return rng.random() < 0.5
        if kind in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
            return rng.choice(_ODD_FLOATS) if rng.random() < 0.5 else rng.random()
        if kind in _INT_RANGES:
            return self._integer(message, field, *_INT_RANGES[kind])
        if field.type == FieldDescriptor.TYPE_BYTES:
            return self._bytes(message, field)
        return self._text(message, field)

    def _integer(self, message: Any, field: FieldDescriptor, least: int, most: int) -> int:
        rng = self._rng
        if field.name == "epoch_ms":
            return (
                1_700_000_000_000 + rng.randrange(10**9) if rng.random() < 0.9 else rng.choice((0, -1, most))
            )
        if field.name in ("clients", "urls", "referrers"):
            return rng.randrange(5) if rng.random() < 0.97 else most
        if field.name == "status_code" and rng.random() < 0.9:
            return rng.choice((0, 200, 200, 200, 301, 404, 500))
        value = rng.choice(_ODD_INTS) if rng.random() < 0.5 else rng.randrange(20)
        return min(max(value, least), most)

    def _bytes(self, message: Any, field: FieldDescriptor) -> bytes:
        rng = self._rng
        if field.name == "body":
            raw, encoding = bodies.encoded(rng, bodies.body(rng))
            if hasattr(message, "content_encoding"):
                message.content_encoding = encoding
            return raw
        seen = self._seen["ticket"]
        if seen and rng.random() < 0.7:
            ticket = rng.choice(seen)
            return self._broken(ticket) if rng.random() < 0.2 else ticket
        return rng.randbytes(rng.choice((0, 1, 33, 64, 65, 500)))

    def _text(self, message: Any, field: FieldDescriptor) -> str:
        likely = _TEXTS.get(f"{message.DESCRIPTOR.name}.{field.name}") or _TEXTS.get(field.name)
        if likely is not None and self._rng.random() < 0.9:
            return likely(self)
        return self._rng.choice(_ODD_TEXTS)

    def _broken(self, raw: bytes) -> bytes:
        rng, changed = self._rng, bytearray(raw or b"x")
        for _ in range(rng.choice((1, 1, 2, 5))):
            at = rng.randrange(len(changed)) if changed else 0
            kind = rng.random()
            if kind < 0.5 and changed:
                changed[at] = rng.randrange(256)
            elif kind < 0.75:
                del changed[at : at + rng.choice((1, 4, 40))]
            else:
                changed[at:at] = rng.randbytes(rng.choice((1, 4)))
        return bytes(changed)

    def crawl(self) -> str:
        """Return the name of a crawl, one that exists most of the time."""
        if self._rng.random() < 0.95:
            return self._rng.choice(self._crawls)
        return self._rng.choice(("crawls/d", "crawls/nothing", "crawls/A B"))

    def site(self) -> str:
        """Return the name of a site of a crawl."""
        return f"{self.crawl()}/sites/{self.host()}"

    def host(self) -> str:
        """Return the host of a site."""
        seen = [name.rpartition("/")[2] for name in self._seen["site"]]
        return self._rng.choice([HOST, HOST, "h", "xn--fiq228c.test", *seen])

    def url(self) -> str:
        """Return a URL of the small site, of an answer, or made up of both."""
        rng = self._rng
        url = rng.choice([url_of(rng.randrange(400)), ROOT, *self._seen["url"]])
        if rng.random() < 0.2:
            url += rng.choice(
                ("?a=1&b=%zz", "/../x", "#f", ";jsessionid=AB12", "é", "?page=2", "?page=3", " ", "\\")
            )
        return url

    def seen(self, kind: str, *others: str) -> str:
        """Return a value of an earlier answer, or one of `others`."""
        return str(self._rng.choice([*self._seen[kind], *others]))

    def event_id(self) -> str:
        """Return the id of an event, which may have been used."""
        return f"e{self._rng.randrange(300)}"

    def one_of(self, *texts: str) -> str:
        """Return one of some texts."""
        return self._rng.choice(texts)


_KINDS = {
    "ticket_values": "ticket",
    "bucket_names": "bucket",
    "bucket": "bucket",
    "urls": "url",
    "site": "site",
    "cluster": "cluster",
    "next_page_token": "page_token",
}
"""What fields of answers are called in requests."""

_CLIENT_TEXTS = ("visitor", "http://forum.test/thread/1", "http://forum.test/thread/2?a", "", "x", "::1")

_TEXTS: dict[str, Callable[[Messages], str]] = {
    "crawl": Messages.crawl,
    "Crawl.name": lambda m: m.one_of("crawls/a", "crawls/b", "crawls/c", "crawls/d", "crawls/e"),
    "GetCrawlRequest.name": Messages.crawl,
    "DeleteCrawlRequest.name": lambda m: m.one_of("crawls/d", "crawls/e", "crawls/f"),
    "name": Messages.site,
    "site": Messages.host,
    "template": lambda m: m.seen("cluster", "outlier"),
    "hosts": Messages.host,
    "url": Messages.url,
    "final_url": Messages.url,
    "canonical_url": Messages.url,
    "referrer": Messages.url,
    "event_id": Messages.event_id,
    "batch_id": Messages.event_id,
    "page_token": lambda m: m.seen("page_token", "", "a"),
    "buckets": lambda m: m.seen("bucket", f"{HOST}/x", "a", ""),
    "content_type": lambda m: m.one_of(*bodies.CONTENT_TYPES),
    "content_encoding": lambda m: m.one_of("", "", "", "gzip", "br"),
    "tag_path": lambda m: m.one_of(*_LINK_TAGS),
    "tag_paths": lambda m: m.one_of(*_LINK_TAGS),
    "text_blocks": lambda m: m.one_of("a text of some words", "x", "another text " * 20),
    "anchor_text": lambda m: m.one_of("", "next", "2", "a title of words", "中文" * 40),
    "rel": lambda m: m.one_of("", "nofollow", "next", "a b c"),
    "fetch_error": lambda m: m.one_of("", "timeout", "x" * 1_000),
    "page_type": lambda m: m.one_of("", "index", "thread", "x"),
    "paths": lambda m: m.one_of("policy", "extra_policies", "examples", "observe_only", "seed", "x"),
    "texts": lambda m: m.one_of(*_CLIENT_TEXTS),
    "client_id": lambda m: m.one_of(*_CLIENT_TEXTS),
    "user_agent": lambda m: m.one_of("", "Mozilla/5.0", "bot"),
    "method": lambda m: m.one_of("", "GET", "POST"),
}
"""Likely values of texts, by message and field or by field alone."""
