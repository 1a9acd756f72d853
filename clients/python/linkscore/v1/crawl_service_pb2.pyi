import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from linkscore.v1 import common_pb2 as _common_pb2
from linkscore.v1 import policy_pb2 as _policy_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CrawlScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CRAWL_SCOPE_UNSPECIFIED: _ClassVar[CrawlScope]
    CRAWL_SCOPE_HOST: _ClassVar[CrawlScope]
    CRAWL_SCOPE_DOMAIN: _ClassVar[CrawlScope]
    CRAWL_SCOPE_ANY: _ClassVar[CrawlScope]

class RevisitObjective(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REVISIT_OBJECTIVE_UNSPECIFIED: _ClassVar[RevisitObjective]
    REVISIT_OBJECTIVE_BOTH: _ClassVar[RevisitObjective]
    REVISIT_OBJECTIVE_FRESHNESS: _ClassVar[RevisitObjective]
    REVISIT_OBJECTIVE_DISCOVERY: _ClassVar[RevisitObjective]

class ShardState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SHARD_STATE_UNSPECIFIED: _ClassVar[ShardState]
    SHARD_STATE_OPEN: _ClassVar[ShardState]
    SHARD_STATE_PUT_AWAY: _ClassVar[ShardState]
    SHARD_STATE_DAMAGED: _ClassVar[ShardState]
    SHARD_STATE_SILENT: _ClassVar[ShardState]
CRAWL_SCOPE_UNSPECIFIED: CrawlScope
CRAWL_SCOPE_HOST: CrawlScope
CRAWL_SCOPE_DOMAIN: CrawlScope
CRAWL_SCOPE_ANY: CrawlScope
REVISIT_OBJECTIVE_UNSPECIFIED: RevisitObjective
REVISIT_OBJECTIVE_BOTH: RevisitObjective
REVISIT_OBJECTIVE_FRESHNESS: RevisitObjective
REVISIT_OBJECTIVE_DISCOVERY: RevisitObjective
SHARD_STATE_UNSPECIFIED: ShardState
SHARD_STATE_OPEN: ShardState
SHARD_STATE_PUT_AWAY: ShardState
SHARD_STATE_DAMAGED: ShardState
SHARD_STATE_SILENT: ShardState

class LearningConfig(_message.Message):
    __slots__ = ("sample_pages",)
    SAMPLE_PAGES_FIELD_NUMBER: _ClassVar[int]
    sample_pages: int
    def __init__(self, sample_pages: _Optional[int] = ...) -> None: ...

class ExamplePage(_message.Message):
    __slots__ = ("url", "body", "content_type", "page_type")
    URL_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    url: str
    body: bytes
    content_type: str
    page_type: str
    def __init__(self, url: _Optional[str] = ..., body: _Optional[bytes] = ..., content_type: _Optional[str] = ..., page_type: _Optional[str] = ...) -> None: ...

class WantedSample(_message.Message):
    __slots__ = ("url", "text", "body", "content_type", "unwanted")
    URL_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    UNWANTED_FIELD_NUMBER: _ClassVar[int]
    url: str
    text: str
    body: bytes
    content_type: str
    unwanted: bool
    def __init__(self, url: _Optional[str] = ..., text: _Optional[str] = ..., body: _Optional[bytes] = ..., content_type: _Optional[str] = ..., unwanted: bool = ...) -> None: ...

class Wanted(_message.Message):
    __slots__ = ("queries", "samples")
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    queries: _containers.RepeatedScalarFieldContainer[str]
    samples: _containers.RepeatedCompositeFieldContainer[WantedSample]
    def __init__(self, queries: _Optional[_Iterable[str]] = ..., samples: _Optional[_Iterable[_Union[WantedSample, _Mapping]]] = ...) -> None: ...

class Budget(_message.Message):
    __slots__ = ("max_fetches", "max_bytes", "max_seconds", "max_site_fetches", "max_site_bytes", "max_site_seconds", "max_trap_share", "enough_coverage", "least_yield")
    MAX_FETCHES_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MAX_SITE_FETCHES_FIELD_NUMBER: _ClassVar[int]
    MAX_SITE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_SITE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MAX_TRAP_SHARE_FIELD_NUMBER: _ClassVar[int]
    ENOUGH_COVERAGE_FIELD_NUMBER: _ClassVar[int]
    LEAST_YIELD_FIELD_NUMBER: _ClassVar[int]
    max_fetches: int
    max_bytes: int
    max_seconds: float
    max_site_fetches: int
    max_site_bytes: int
    max_site_seconds: float
    max_trap_share: float
    enough_coverage: float
    least_yield: float
    def __init__(self, max_fetches: _Optional[int] = ..., max_bytes: _Optional[int] = ..., max_seconds: _Optional[float] = ..., max_site_fetches: _Optional[int] = ..., max_site_bytes: _Optional[int] = ..., max_site_seconds: _Optional[float] = ..., max_trap_share: _Optional[float] = ..., enough_coverage: _Optional[float] = ..., least_yield: _Optional[float] = ...) -> None: ...

class Copies(_message.Message):
    __slots__ = ("skip_above",)
    SKIP_ABOVE_FIELD_NUMBER: _ClassVar[int]
    skip_above: float
    def __init__(self, skip_above: _Optional[float] = ...) -> None: ...

class Revisit(_message.Message):
    __slots__ = ("objective", "fetches_per_day", "least_interval", "longest_interval")
    OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    FETCHES_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    LEAST_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    LONGEST_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    objective: RevisitObjective
    fetches_per_day: float
    least_interval: _duration_pb2.Duration
    longest_interval: _duration_pb2.Duration
    def __init__(self, objective: _Optional[_Union[RevisitObjective, str]] = ..., fetches_per_day: _Optional[float] = ..., least_interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., longest_interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Crawl(_message.Message):
    __slots__ = ("name", "policy", "scope", "learning", "observe_only", "seed", "create_time", "page_count", "feedback_count", "site_count", "event_seq", "examples", "wanted", "groups", "experience", "experience_count", "budget", "copies", "decision", "decision_reason", "revisit", "respect")
    NAME_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    LEARNING_FIELD_NUMBER: _ClassVar[int]
    OBSERVE_ONLY_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    PAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    FEEDBACK_COUNT_FIELD_NUMBER: _ClassVar[int]
    SITE_COUNT_FIELD_NUMBER: _ClassVar[int]
    EVENT_SEQ_FIELD_NUMBER: _ClassVar[int]
    EXAMPLES_FIELD_NUMBER: _ClassVar[int]
    WANTED_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    EXPERIENCE_FIELD_NUMBER: _ClassVar[int]
    EXPERIENCE_COUNT_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    COPIES_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    DECISION_REASON_FIELD_NUMBER: _ClassVar[int]
    REVISIT_FIELD_NUMBER: _ClassVar[int]
    RESPECT_FIELD_NUMBER: _ClassVar[int]
    name: str
    policy: _policy_pb2.PolicySpec
    scope: CrawlScope
    learning: LearningConfig
    observe_only: bool
    seed: int
    create_time: _timestamp_pb2.Timestamp
    page_count: int
    feedback_count: int
    site_count: int
    event_seq: int
    examples: _containers.RepeatedCompositeFieldContainer[ExamplePage]
    wanted: Wanted
    groups: int
    experience: _containers.RepeatedScalarFieldContainer[bytes]
    experience_count: int
    budget: Budget
    copies: Copies
    decision: _common_pb2.Decision
    decision_reason: str
    revisit: Revisit
    respect: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., policy: _Optional[_Union[_policy_pb2.PolicySpec, _Mapping]] = ..., scope: _Optional[_Union[CrawlScope, str]] = ..., learning: _Optional[_Union[LearningConfig, _Mapping]] = ..., observe_only: bool = ..., seed: _Optional[int] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., page_count: _Optional[int] = ..., feedback_count: _Optional[int] = ..., site_count: _Optional[int] = ..., event_seq: _Optional[int] = ..., examples: _Optional[_Iterable[_Union[ExamplePage, _Mapping]]] = ..., wanted: _Optional[_Union[Wanted, _Mapping]] = ..., groups: _Optional[int] = ..., experience: _Optional[_Iterable[bytes]] = ..., experience_count: _Optional[int] = ..., budget: _Optional[_Union[Budget, _Mapping]] = ..., copies: _Optional[_Union[Copies, _Mapping]] = ..., decision: _Optional[_Union[_common_pb2.Decision, str]] = ..., decision_reason: _Optional[str] = ..., revisit: _Optional[_Union[Revisit, _Mapping]] = ..., respect: _Optional[_Iterable[str]] = ...) -> None: ...

class CreateCrawlRequest(_message.Message):
    __slots__ = ("crawl",)
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    crawl: Crawl
    def __init__(self, crawl: _Optional[_Union[Crawl, _Mapping]] = ...) -> None: ...

class CreateCrawlResponse(_message.Message):
    __slots__ = ("crawl",)
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    crawl: Crawl
    def __init__(self, crawl: _Optional[_Union[Crawl, _Mapping]] = ...) -> None: ...

class GetCrawlRequest(_message.Message):
    __slots__ = ("name", "with_activity")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WITH_ACTIVITY_FIELD_NUMBER: _ClassVar[int]
    name: str
    with_activity: bool
    def __init__(self, name: _Optional[str] = ..., with_activity: bool = ...) -> None: ...

class Activity(_message.Message):
    __slots__ = ("site_count", "learned_site_count", "learning_site_count", "page_count", "failed_count", "duplicate_count", "fetch_count", "text_reward", "reported_count", "reward")
    SITE_COUNT_FIELD_NUMBER: _ClassVar[int]
    LEARNED_SITE_COUNT_FIELD_NUMBER: _ClassVar[int]
    LEARNING_SITE_COUNT_FIELD_NUMBER: _ClassVar[int]
    PAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    FAILED_COUNT_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_COUNT_FIELD_NUMBER: _ClassVar[int]
    FETCH_COUNT_FIELD_NUMBER: _ClassVar[int]
    TEXT_REWARD_FIELD_NUMBER: _ClassVar[int]
    REPORTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    REWARD_FIELD_NUMBER: _ClassVar[int]
    site_count: int
    learned_site_count: int
    learning_site_count: int
    page_count: int
    failed_count: int
    duplicate_count: int
    fetch_count: int
    text_reward: float
    reported_count: int
    reward: float
    def __init__(self, site_count: _Optional[int] = ..., learned_site_count: _Optional[int] = ..., learning_site_count: _Optional[int] = ..., page_count: _Optional[int] = ..., failed_count: _Optional[int] = ..., duplicate_count: _Optional[int] = ..., fetch_count: _Optional[int] = ..., text_reward: _Optional[float] = ..., reported_count: _Optional[int] = ..., reward: _Optional[float] = ...) -> None: ...

class GetCrawlResponse(_message.Message):
    __slots__ = ("crawl", "server_version", "activity")
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    SERVER_VERSION_FIELD_NUMBER: _ClassVar[int]
    ACTIVITY_FIELD_NUMBER: _ClassVar[int]
    crawl: Crawl
    server_version: str
    activity: Activity
    def __init__(self, crawl: _Optional[_Union[Crawl, _Mapping]] = ..., server_version: _Optional[str] = ..., activity: _Optional[_Union[Activity, _Mapping]] = ...) -> None: ...

class ListCrawlsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListCrawlsResponse(_message.Message):
    __slots__ = ("crawls", "next_page_token")
    CRAWLS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    crawls: _containers.RepeatedCompositeFieldContainer[Crawl]
    next_page_token: str
    def __init__(self, crawls: _Optional[_Iterable[_Union[Crawl, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class UpdateCrawlRequest(_message.Message):
    __slots__ = ("crawl", "update_mask")
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    crawl: Crawl
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, crawl: _Optional[_Union[Crawl, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class UpdateCrawlResponse(_message.Message):
    __slots__ = ("crawl",)
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    crawl: Crawl
    def __init__(self, crawl: _Optional[_Union[Crawl, _Mapping]] = ...) -> None: ...

class DeleteCrawlRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class DeleteCrawlResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListShardsRequest(_message.Message):
    __slots__ = ("crawl",)
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    crawl: str
    def __init__(self, crawl: _Optional[str] = ...) -> None: ...

class Shard(_message.Message):
    __slots__ = ("crawl", "group", "group_count", "state", "owner", "event_seq", "replay_count", "disk_bytes", "site_count", "live_site_count", "memory_bytes", "waiting_count", "trouble")
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    GROUP_COUNT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    EVENT_SEQ_FIELD_NUMBER: _ClassVar[int]
    REPLAY_COUNT_FIELD_NUMBER: _ClassVar[int]
    DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    SITE_COUNT_FIELD_NUMBER: _ClassVar[int]
    LIVE_SITE_COUNT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    WAITING_COUNT_FIELD_NUMBER: _ClassVar[int]
    TROUBLE_FIELD_NUMBER: _ClassVar[int]
    crawl: str
    group: int
    group_count: int
    state: ShardState
    owner: str
    event_seq: int
    replay_count: int
    disk_bytes: int
    site_count: int
    live_site_count: int
    memory_bytes: int
    waiting_count: int
    trouble: str
    def __init__(self, crawl: _Optional[str] = ..., group: _Optional[int] = ..., group_count: _Optional[int] = ..., state: _Optional[_Union[ShardState, str]] = ..., owner: _Optional[str] = ..., event_seq: _Optional[int] = ..., replay_count: _Optional[int] = ..., disk_bytes: _Optional[int] = ..., site_count: _Optional[int] = ..., live_site_count: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., waiting_count: _Optional[int] = ..., trouble: _Optional[str] = ...) -> None: ...

class ListShardsResponse(_message.Message):
    __slots__ = ("shards",)
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    shards: _containers.RepeatedCompositeFieldContainer[Shard]
    def __init__(self, shards: _Optional[_Iterable[_Union[Shard, _Mapping]]] = ...) -> None: ...

class GetServerInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetServerInfoResponse(_message.Message):
    __slots__ = ("version", "settings")
    class SettingsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    version: str
    settings: _containers.ScalarMap[str, str]
    def __init__(self, version: _Optional[str] = ..., settings: _Optional[_Mapping[str, str]] = ...) -> None: ...
