from linkscore.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RewardSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REWARD_SOURCE_UNSPECIFIED: _ClassVar[RewardSource]
    REWARD_SOURCE_NOVELTY: _ClassVar[RewardSource]
    REWARD_SOURCE_FEEDBACK: _ClassVar[RewardSource]

class TrapKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRAP_KIND_UNSPECIFIED: _ClassVar[TrapKind]
    TRAP_KIND_COPIES: _ClassVar[TrapKind]
    TRAP_KIND_ENDLESS: _ClassVar[TrapKind]
    TRAP_KIND_FADING: _ClassVar[TrapKind]

class RuleFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RULE_FORMAT_UNSPECIFIED: _ClassVar[RuleFormat]
    RULE_FORMAT_JSON: _ClassVar[RuleFormat]
    RULE_FORMAT_SCRAPY: _ClassVar[RuleFormat]
    RULE_FORMAT_NUTCH: _ClassVar[RuleFormat]
    RULE_FORMAT_HERITRIX: _ClassVar[RuleFormat]
    RULE_FORMAT_BROWSERTRIX: _ClassVar[RuleFormat]
    RULE_FORMAT_EXPERIENCE: _ClassVar[RuleFormat]
REWARD_SOURCE_UNSPECIFIED: RewardSource
REWARD_SOURCE_NOVELTY: RewardSource
REWARD_SOURCE_FEEDBACK: RewardSource
TRAP_KIND_UNSPECIFIED: TrapKind
TRAP_KIND_COPIES: TrapKind
TRAP_KIND_ENDLESS: TrapKind
TRAP_KIND_FADING: TrapKind
RULE_FORMAT_UNSPECIFIED: RuleFormat
RULE_FORMAT_JSON: RuleFormat
RULE_FORMAT_SCRAPY: RuleFormat
RULE_FORMAT_NUTCH: RuleFormat
RULE_FORMAT_HERITRIX: RuleFormat
RULE_FORMAT_BROWSERTRIX: RuleFormat
RULE_FORMAT_EXPERIENCE: RuleFormat

class Site(_message.Message):
    __slots__ = ("name", "host", "stage", "page_count", "failed_count", "sample_count", "next_learning_at", "model_revision", "cluster_count", "link_count", "duplicate_share", "learning", "policy_state", "session_names")
    NAME_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    PAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    FAILED_COUNT_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_COUNT_FIELD_NUMBER: _ClassVar[int]
    NEXT_LEARNING_AT_FIELD_NUMBER: _ClassVar[int]
    MODEL_REVISION_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_COUNT_FIELD_NUMBER: _ClassVar[int]
    LINK_COUNT_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_SHARE_FIELD_NUMBER: _ClassVar[int]
    LEARNING_FIELD_NUMBER: _ClassVar[int]
    POLICY_STATE_FIELD_NUMBER: _ClassVar[int]
    SESSION_NAMES_FIELD_NUMBER: _ClassVar[int]
    name: str
    host: str
    stage: _common_pb2.SiteStage
    page_count: int
    failed_count: int
    sample_count: int
    next_learning_at: int
    model_revision: int
    cluster_count: int
    link_count: int
    duplicate_share: float
    learning: bool
    policy_state: str
    session_names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., host: _Optional[str] = ..., stage: _Optional[_Union[_common_pb2.SiteStage, str]] = ..., page_count: _Optional[int] = ..., failed_count: _Optional[int] = ..., sample_count: _Optional[int] = ..., next_learning_at: _Optional[int] = ..., model_revision: _Optional[int] = ..., cluster_count: _Optional[int] = ..., link_count: _Optional[int] = ..., duplicate_share: _Optional[float] = ..., learning: bool = ..., policy_state: _Optional[str] = ..., session_names: _Optional[_Iterable[str]] = ...) -> None: ...

class ListSitesRequest(_message.Message):
    __slots__ = ("crawl", "page_size", "page_token")
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    crawl: str
    page_size: int
    page_token: str
    def __init__(self, crawl: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListSitesResponse(_message.Message):
    __slots__ = ("sites", "next_page_token")
    SITES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    sites: _containers.RepeatedCompositeFieldContainer[Site]
    next_page_token: str
    def __init__(self, sites: _Optional[_Iterable[_Union[Site, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetSiteRequest(_message.Message):
    __slots__ = ("name", "max_skipped")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MAX_SKIPPED_FIELD_NUMBER: _ClassVar[int]
    name: str
    max_skipped: int
    def __init__(self, name: _Optional[str] = ..., max_skipped: _Optional[int] = ...) -> None: ...

class GetSiteResponse(_message.Message):
    __slots__ = ("site", "advice", "skipped_links", "skipped_counts")
    class SkippedCountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    SITE_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_LINKS_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_COUNTS_FIELD_NUMBER: _ClassVar[int]
    site: Site
    advice: SiteAdvice
    skipped_links: _containers.RepeatedCompositeFieldContainer[SkippedLink]
    skipped_counts: _containers.ScalarMap[str, int]
    def __init__(self, site: _Optional[_Union[Site, _Mapping]] = ..., advice: _Optional[_Union[SiteAdvice, _Mapping]] = ..., skipped_links: _Optional[_Iterable[_Union[SkippedLink, _Mapping]]] = ..., skipped_counts: _Optional[_Mapping[str, int]] = ...) -> None: ...

class SkippedLink(_message.Message):
    __slots__ = ("url", "reason", "page_url")
    URL_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PAGE_URL_FIELD_NUMBER: _ClassVar[int]
    url: str
    reason: _common_pb2.SkipReason
    page_url: str
    def __init__(self, url: _Optional[str] = ..., reason: _Optional[_Union[_common_pb2.SkipReason, str]] = ..., page_url: _Optional[str] = ...) -> None: ...

class SiteAdvice(_message.Message):
    __slots__ = ("reward_source", "waiting_links", "expected_fetches", "expected_reward", "policy_estimate", "recent_fetches", "recent_reward", "yields", "traps", "warnings", "decision", "decision_reason", "coverage")
    REWARD_SOURCE_FIELD_NUMBER: _ClassVar[int]
    WAITING_LINKS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FETCHES_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REWARD_FIELD_NUMBER: _ClassVar[int]
    POLICY_ESTIMATE_FIELD_NUMBER: _ClassVar[int]
    RECENT_FETCHES_FIELD_NUMBER: _ClassVar[int]
    RECENT_REWARD_FIELD_NUMBER: _ClassVar[int]
    YIELDS_FIELD_NUMBER: _ClassVar[int]
    TRAPS_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    DECISION_REASON_FIELD_NUMBER: _ClassVar[int]
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    reward_source: RewardSource
    waiting_links: int
    expected_fetches: int
    expected_reward: float
    policy_estimate: bool
    recent_fetches: int
    recent_reward: float
    yields: _containers.RepeatedCompositeFieldContainer[GroupYield]
    traps: _containers.RepeatedCompositeFieldContainer[TrapSuspicion]
    warnings: _containers.RepeatedScalarFieldContainer[str]
    decision: _common_pb2.Decision
    decision_reason: str
    coverage: Coverage
    def __init__(self, reward_source: _Optional[_Union[RewardSource, str]] = ..., waiting_links: _Optional[int] = ..., expected_fetches: _Optional[int] = ..., expected_reward: _Optional[float] = ..., policy_estimate: bool = ..., recent_fetches: _Optional[int] = ..., recent_reward: _Optional[float] = ..., yields: _Optional[_Iterable[_Union[GroupYield, _Mapping]]] = ..., traps: _Optional[_Iterable[_Union[TrapSuspicion, _Mapping]]] = ..., warnings: _Optional[_Iterable[str]] = ..., decision: _Optional[_Union[_common_pb2.Decision, str]] = ..., decision_reason: _Optional[str] = ..., coverage: _Optional[_Union[Coverage, _Mapping]] = ...) -> None: ...

class Coverage(_message.Message):
    __slots__ = ("share", "low", "high", "found", "waiting", "unseen", "fetches")
    SHARE_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    UNSEEN_FIELD_NUMBER: _ClassVar[int]
    FETCHES_FIELD_NUMBER: _ClassVar[int]
    share: float
    low: float
    high: float
    found: float
    waiting: float
    unseen: float
    fetches: int
    def __init__(self, share: _Optional[float] = ..., low: _Optional[float] = ..., high: _Optional[float] = ..., found: _Optional[float] = ..., waiting: _Optional[float] = ..., unseen: _Optional[float] = ..., fetches: _Optional[int] = ...) -> None: ...

class GroupYield(_message.Message):
    __slots__ = ("url_pattern", "tag_path", "fetched_count", "reported_count", "waiting_count", "early_reward", "late_reward")
    URL_PATTERN_FIELD_NUMBER: _ClassVar[int]
    TAG_PATH_FIELD_NUMBER: _ClassVar[int]
    FETCHED_COUNT_FIELD_NUMBER: _ClassVar[int]
    REPORTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    WAITING_COUNT_FIELD_NUMBER: _ClassVar[int]
    EARLY_REWARD_FIELD_NUMBER: _ClassVar[int]
    LATE_REWARD_FIELD_NUMBER: _ClassVar[int]
    url_pattern: str
    tag_path: str
    fetched_count: int
    reported_count: int
    waiting_count: int
    early_reward: float
    late_reward: float
    def __init__(self, url_pattern: _Optional[str] = ..., tag_path: _Optional[str] = ..., fetched_count: _Optional[int] = ..., reported_count: _Optional[int] = ..., waiting_count: _Optional[int] = ..., early_reward: _Optional[float] = ..., late_reward: _Optional[float] = ...) -> None: ...

class TrapSuspicion(_message.Message):
    __slots__ = ("kind", "url_pattern", "tag_path", "fetched_count", "waiting_count", "evidence", "example_urls")
    KIND_FIELD_NUMBER: _ClassVar[int]
    URL_PATTERN_FIELD_NUMBER: _ClassVar[int]
    TAG_PATH_FIELD_NUMBER: _ClassVar[int]
    FETCHED_COUNT_FIELD_NUMBER: _ClassVar[int]
    WAITING_COUNT_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    EXAMPLE_URLS_FIELD_NUMBER: _ClassVar[int]
    kind: TrapKind
    url_pattern: str
    tag_path: str
    fetched_count: int
    waiting_count: int
    evidence: str
    example_urls: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, kind: _Optional[_Union[TrapKind, str]] = ..., url_pattern: _Optional[str] = ..., tag_path: _Optional[str] = ..., fetched_count: _Optional[int] = ..., waiting_count: _Optional[int] = ..., evidence: _Optional[str] = ..., example_urls: _Optional[_Iterable[str]] = ...) -> None: ...

class LearnSiteRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class LearnSiteResponse(_message.Message):
    __slots__ = ("site",)
    SITE_FIELD_NUMBER: _ClassVar[int]
    site: Site
    def __init__(self, site: _Optional[_Union[Site, _Mapping]] = ...) -> None: ...

class SuggestSeedsRequest(_message.Message):
    __slots__ = ("crawl", "site", "max_results")
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    SITE_FIELD_NUMBER: _ClassVar[int]
    MAX_RESULTS_FIELD_NUMBER: _ClassVar[int]
    crawl: str
    site: str
    max_results: int
    def __init__(self, crawl: _Optional[str] = ..., site: _Optional[str] = ..., max_results: _Optional[int] = ...) -> None: ...

class Seed(_message.Message):
    __slots__ = ("url", "reason", "value", "page_count")
    URL_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    PAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    url: str
    reason: str
    value: float
    page_count: int
    def __init__(self, url: _Optional[str] = ..., reason: _Optional[str] = ..., value: _Optional[float] = ..., page_count: _Optional[int] = ...) -> None: ...

class SuggestSeedsResponse(_message.Message):
    __slots__ = ("seeds", "site", "policy", "policy_state", "event_seq")
    SEEDS_FIELD_NUMBER: _ClassVar[int]
    SITE_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    POLICY_STATE_FIELD_NUMBER: _ClassVar[int]
    EVENT_SEQ_FIELD_NUMBER: _ClassVar[int]
    seeds: _containers.RepeatedCompositeFieldContainer[Seed]
    site: str
    policy: str
    policy_state: str
    event_seq: int
    def __init__(self, seeds: _Optional[_Iterable[_Union[Seed, _Mapping]]] = ..., site: _Optional[str] = ..., policy: _Optional[str] = ..., policy_state: _Optional[str] = ..., event_seq: _Optional[int] = ...) -> None: ...

class ExportRulesRequest(_message.Message):
    __slots__ = ("name", "formats")
    NAME_FIELD_NUMBER: _ClassVar[int]
    FORMATS_FIELD_NUMBER: _ClassVar[int]
    name: str
    formats: _containers.RepeatedScalarFieldContainer[RuleFormat]
    def __init__(self, name: _Optional[str] = ..., formats: _Optional[_Iterable[_Union[RuleFormat, str]]] = ...) -> None: ...

class RuleFile(_message.Message):
    __slots__ = ("format", "name", "content", "notes")
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    format: RuleFormat
    name: str
    content: bytes
    notes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, format: _Optional[_Union[RuleFormat, str]] = ..., name: _Optional[str] = ..., content: _Optional[bytes] = ..., notes: _Optional[_Iterable[str]] = ...) -> None: ...

class ExportRulesResponse(_message.Message):
    __slots__ = ("files", "policy", "policy_state", "event_seq")
    FILES_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    POLICY_STATE_FIELD_NUMBER: _ClassVar[int]
    EVENT_SEQ_FIELD_NUMBER: _ClassVar[int]
    files: _containers.RepeatedCompositeFieldContainer[RuleFile]
    policy: str
    policy_state: str
    event_seq: int
    def __init__(self, files: _Optional[_Iterable[_Union[RuleFile, _Mapping]]] = ..., policy: _Optional[str] = ..., policy_state: _Optional[str] = ..., event_seq: _Optional[int] = ...) -> None: ...
