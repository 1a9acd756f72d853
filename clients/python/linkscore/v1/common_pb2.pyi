import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SiteStage(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SITE_STAGE_UNSPECIFIED: _ClassVar[SiteStage]
    SITE_STAGE_SAMPLING: _ClassVar[SiteStage]
    SITE_STAGE_LEARNING: _ClassVar[SiteStage]
    SITE_STAGE_READY: _ClassVar[SiteStage]

class Verdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERDICT_UNSPECIFIED: _ClassVar[Verdict]
    VERDICT_FOLLOW: _ClassVar[Verdict]
    VERDICT_SKIP: _ClassVar[Verdict]

class SkipReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SKIP_REASON_UNSPECIFIED: _ClassVar[SkipReason]
    SKIP_REASON_CRAWL_BUDGET: _ClassVar[SkipReason]
    SKIP_REASON_SITE_STOPPED: _ClassVar[SkipReason]
    SKIP_REASON_TRAP: _ClassVar[SkipReason]
    SKIP_REASON_RESPECT: _ClassVar[SkipReason]
    SKIP_REASON_COPY: _ClassVar[SkipReason]

class Decision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DECISION_UNSPECIFIED: _ClassVar[Decision]
    DECISION_CONTINUE: _ClassVar[Decision]
    DECISION_STOP_YIELD: _ClassVar[Decision]
    DECISION_STOP_COVERED: _ClassVar[Decision]
    DECISION_STOP_BUDGET: _ClassVar[Decision]

class UrlType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    URL_TYPE_UNSPECIFIED: _ClassVar[UrlType]
    URL_TYPE_INDEX: _ClassVar[UrlType]
    URL_TYPE_THREAD: _ClassVar[UrlType]
    URL_TYPE_PAGE_FLIP: _ClassVar[UrlType]
    URL_TYPE_OTHER: _ClassVar[UrlType]

class PageType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PAGE_TYPE_UNSPECIFIED: _ClassVar[PageType]
    PAGE_TYPE_INDEX: _ClassVar[PageType]
    PAGE_TYPE_THREAD: _ClassVar[PageType]
    PAGE_TYPE_OTHER: _ClassVar[PageType]
    PAGE_TYPE_ENTRY: _ClassVar[PageType]

class ItemCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ITEM_CODE_UNSPECIFIED: _ClassVar[ItemCode]
    ITEM_CODE_OK: _ClassVar[ItemCode]
    ITEM_CODE_DUPLICATE: _ClassVar[ItemCode]
    ITEM_CODE_INVALID: _ClassVar[ItemCode]
    ITEM_CODE_PARTIAL: _ClassVar[ItemCode]

class PageKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PAGE_KIND_UNSPECIFIED: _ClassVar[PageKind]
    PAGE_KIND_PAGE: _ClassVar[PageKind]
    PAGE_KIND_SITEMAP: _ClassVar[PageKind]
    PAGE_KIND_FEED: _ClassVar[PageKind]
SITE_STAGE_UNSPECIFIED: SiteStage
SITE_STAGE_SAMPLING: SiteStage
SITE_STAGE_LEARNING: SiteStage
SITE_STAGE_READY: SiteStage
VERDICT_UNSPECIFIED: Verdict
VERDICT_FOLLOW: Verdict
VERDICT_SKIP: Verdict
SKIP_REASON_UNSPECIFIED: SkipReason
SKIP_REASON_CRAWL_BUDGET: SkipReason
SKIP_REASON_SITE_STOPPED: SkipReason
SKIP_REASON_TRAP: SkipReason
SKIP_REASON_RESPECT: SkipReason
SKIP_REASON_COPY: SkipReason
DECISION_UNSPECIFIED: Decision
DECISION_CONTINUE: Decision
DECISION_STOP_YIELD: Decision
DECISION_STOP_COVERED: Decision
DECISION_STOP_BUDGET: Decision
URL_TYPE_UNSPECIFIED: UrlType
URL_TYPE_INDEX: UrlType
URL_TYPE_THREAD: UrlType
URL_TYPE_PAGE_FLIP: UrlType
URL_TYPE_OTHER: UrlType
PAGE_TYPE_UNSPECIFIED: PageType
PAGE_TYPE_INDEX: PageType
PAGE_TYPE_THREAD: PageType
PAGE_TYPE_OTHER: PageType
PAGE_TYPE_ENTRY: PageType
ITEM_CODE_UNSPECIFIED: ItemCode
ITEM_CODE_OK: ItemCode
ITEM_CODE_DUPLICATE: ItemCode
ITEM_CODE_INVALID: ItemCode
ITEM_CODE_PARTIAL: ItemCode
PAGE_KIND_UNSPECIFIED: PageKind
PAGE_KIND_PAGE: PageKind
PAGE_KIND_SITEMAP: PageKind
PAGE_KIND_FEED: PageKind

class FieldProblem(_message.Message):
    __slots__ = ("field", "description", "reason")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    field: str
    description: str
    reason: str
    def __init__(self, field: _Optional[str] = ..., description: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class ItemStatus(_message.Message):
    __slots__ = ("code", "problems", "notes")
    CODE_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    code: ItemCode
    problems: _containers.RepeatedCompositeFieldContainer[FieldProblem]
    notes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, code: _Optional[_Union[ItemCode, str]] = ..., problems: _Optional[_Iterable[_Union[FieldProblem, _Mapping]]] = ..., notes: _Optional[_Iterable[str]] = ...) -> None: ...

class Outlink(_message.Message):
    __slots__ = ("url", "anchor_text", "tag_path", "rel")
    URL_FIELD_NUMBER: _ClassVar[int]
    ANCHOR_TEXT_FIELD_NUMBER: _ClassVar[int]
    TAG_PATH_FIELD_NUMBER: _ClassVar[int]
    REL_FIELD_NUMBER: _ClassVar[int]
    url: str
    anchor_text: str
    tag_path: str
    rel: str
    def __init__(self, url: _Optional[str] = ..., anchor_text: _Optional[str] = ..., tag_path: _Optional[str] = ..., rel: _Optional[str] = ...) -> None: ...

class Header(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class Page(_message.Message):
    __slots__ = ("event_id", "url", "final_url", "status_code", "fetch_error", "content_type", "content_encoding", "body", "outlinks", "ticket", "fetch_time", "fetched_bytes", "headers", "kind", "not_modified")
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    FINAL_URL_FIELD_NUMBER: _ClassVar[int]
    STATUS_CODE_FIELD_NUMBER: _ClassVar[int]
    FETCH_ERROR_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_ENCODING_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    OUTLINKS_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    FETCH_TIME_FIELD_NUMBER: _ClassVar[int]
    FETCHED_BYTES_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NOT_MODIFIED_FIELD_NUMBER: _ClassVar[int]
    event_id: str
    url: str
    final_url: str
    status_code: int
    fetch_error: str
    content_type: str
    content_encoding: str
    body: bytes
    outlinks: _containers.RepeatedCompositeFieldContainer[Outlink]
    ticket: bytes
    fetch_time: _timestamp_pb2.Timestamp
    fetched_bytes: int
    headers: _containers.RepeatedCompositeFieldContainer[Header]
    kind: PageKind
    not_modified: bool
    def __init__(self, event_id: _Optional[str] = ..., url: _Optional[str] = ..., final_url: _Optional[str] = ..., status_code: _Optional[int] = ..., fetch_error: _Optional[str] = ..., content_type: _Optional[str] = ..., content_encoding: _Optional[str] = ..., body: _Optional[bytes] = ..., outlinks: _Optional[_Iterable[_Union[Outlink, _Mapping]]] = ..., ticket: _Optional[bytes] = ..., fetch_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., fetched_bytes: _Optional[int] = ..., headers: _Optional[_Iterable[_Union[Header, _Mapping]]] = ..., kind: _Optional[_Union[PageKind, str]] = ..., not_modified: bool = ...) -> None: ...

class LinkScores(_message.Message):
    __slots__ = ("urls", "scores", "buckets", "bucket_names", "tickets", "ticket_values", "verdicts", "in_scope", "statuses", "url_types", "bucket_values", "skip_reasons")
    class StatusesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: ItemStatus
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[ItemStatus, _Mapping]] = ...) -> None: ...
    URLS_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    BUCKETS_FIELD_NUMBER: _ClassVar[int]
    BUCKET_NAMES_FIELD_NUMBER: _ClassVar[int]
    TICKETS_FIELD_NUMBER: _ClassVar[int]
    TICKET_VALUES_FIELD_NUMBER: _ClassVar[int]
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    IN_SCOPE_FIELD_NUMBER: _ClassVar[int]
    STATUSES_FIELD_NUMBER: _ClassVar[int]
    URL_TYPES_FIELD_NUMBER: _ClassVar[int]
    BUCKET_VALUES_FIELD_NUMBER: _ClassVar[int]
    SKIP_REASONS_FIELD_NUMBER: _ClassVar[int]
    urls: _containers.RepeatedScalarFieldContainer[str]
    scores: _containers.RepeatedScalarFieldContainer[float]
    buckets: _containers.RepeatedScalarFieldContainer[int]
    bucket_names: _containers.RepeatedScalarFieldContainer[str]
    tickets: _containers.RepeatedScalarFieldContainer[int]
    ticket_values: _containers.RepeatedScalarFieldContainer[bytes]
    verdicts: _containers.RepeatedScalarFieldContainer[Verdict]
    in_scope: _containers.RepeatedScalarFieldContainer[bool]
    statuses: _containers.MessageMap[int, ItemStatus]
    url_types: _containers.RepeatedScalarFieldContainer[UrlType]
    bucket_values: _containers.RepeatedScalarFieldContainer[float]
    skip_reasons: _containers.RepeatedScalarFieldContainer[SkipReason]
    def __init__(self, urls: _Optional[_Iterable[str]] = ..., scores: _Optional[_Iterable[float]] = ..., buckets: _Optional[_Iterable[int]] = ..., bucket_names: _Optional[_Iterable[str]] = ..., tickets: _Optional[_Iterable[int]] = ..., ticket_values: _Optional[_Iterable[bytes]] = ..., verdicts: _Optional[_Iterable[_Union[Verdict, str]]] = ..., in_scope: _Optional[_Iterable[bool]] = ..., statuses: _Optional[_Mapping[int, ItemStatus]] = ..., url_types: _Optional[_Iterable[_Union[UrlType, str]]] = ..., bucket_values: _Optional[_Iterable[float]] = ..., skip_reasons: _Optional[_Iterable[_Union[SkipReason, str]]] = ...) -> None: ...
