import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BrowseRecord(_message.Message):
    __slots__ = ("time", "client_id", "url", "referrer")
    TIME_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    REFERRER_FIELD_NUMBER: _ClassVar[int]
    time: _timestamp_pb2.Timestamp
    client_id: str
    url: str
    referrer: str
    def __init__(self, time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., client_id: _Optional[str] = ..., url: _Optional[str] = ..., referrer: _Optional[str] = ...) -> None: ...

class ImportBrowseRecordsRequest(_message.Message):
    __slots__ = ("crawl", "batch_id", "records", "left_out")
    class LeftOutEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    crawl: str
    batch_id: str
    records: _containers.RepeatedCompositeFieldContainer[BrowseRecord]
    left_out: _containers.ScalarMap[str, int]
    def __init__(self, crawl: _Optional[str] = ..., batch_id: _Optional[str] = ..., records: _Optional[_Iterable[_Union[BrowseRecord, _Mapping]]] = ..., left_out: _Optional[_Mapping[str, int]] = ...) -> None: ...

class ImportBrowseRecordsResponse(_message.Message):
    __slots__ = ("duplicate", "visit_count", "left_out")
    class LeftOutEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    VISIT_COUNT_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    duplicate: bool
    visit_count: int
    left_out: _containers.ScalarMap[str, int]
    def __init__(self, duplicate: bool = ..., visit_count: _Optional[int] = ..., left_out: _Optional[_Mapping[str, int]] = ...) -> None: ...

class MineSiteRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class MineSiteResponse(_message.Message):
    __slots__ = ("window_start", "window_days", "visit_count", "page_count", "policy", "summary", "left_out_count")
    WINDOW_START_FIELD_NUMBER: _ClassVar[int]
    WINDOW_DAYS_FIELD_NUMBER: _ClassVar[int]
    VISIT_COUNT_FIELD_NUMBER: _ClassVar[int]
    PAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_COUNT_FIELD_NUMBER: _ClassVar[int]
    window_start: _timestamp_pb2.Timestamp
    window_days: int
    visit_count: int
    page_count: int
    policy: str
    summary: str
    left_out_count: int
    def __init__(self, window_start: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., window_days: _Optional[int] = ..., visit_count: _Optional[int] = ..., page_count: _Optional[int] = ..., policy: _Optional[str] = ..., summary: _Optional[str] = ..., left_out_count: _Optional[int] = ...) -> None: ...

class GetBrowseStatsRequest(_message.Message):
    __slots__ = ("crawl",)
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    crawl: str
    def __init__(self, crawl: _Optional[str] = ...) -> None: ...

class BrowseSite(_message.Message):
    __slots__ = ("site", "visit_count", "first_day", "last_day", "mined_start", "mined_days")
    SITE_FIELD_NUMBER: _ClassVar[int]
    VISIT_COUNT_FIELD_NUMBER: _ClassVar[int]
    FIRST_DAY_FIELD_NUMBER: _ClassVar[int]
    LAST_DAY_FIELD_NUMBER: _ClassVar[int]
    MINED_START_FIELD_NUMBER: _ClassVar[int]
    MINED_DAYS_FIELD_NUMBER: _ClassVar[int]
    site: str
    visit_count: int
    first_day: _timestamp_pb2.Timestamp
    last_day: _timestamp_pb2.Timestamp
    mined_start: _timestamp_pb2.Timestamp
    mined_days: int
    def __init__(self, site: _Optional[str] = ..., visit_count: _Optional[int] = ..., first_day: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_day: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., mined_start: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., mined_days: _Optional[int] = ...) -> None: ...

class GetBrowseStatsResponse(_message.Message):
    __slots__ = ("sites", "batch_count", "visit_count", "left_out")
    class LeftOutEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    SITES_FIELD_NUMBER: _ClassVar[int]
    BATCH_COUNT_FIELD_NUMBER: _ClassVar[int]
    VISIT_COUNT_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    sites: _containers.RepeatedCompositeFieldContainer[BrowseSite]
    batch_count: int
    visit_count: int
    left_out: _containers.ScalarMap[str, int]
    def __init__(self, sites: _Optional[_Iterable[_Union[BrowseSite, _Mapping]]] = ..., batch_count: _Optional[int] = ..., visit_count: _Optional[int] = ..., left_out: _Optional[_Mapping[str, int]] = ...) -> None: ...
