import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from linkscore.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RevisitReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REVISIT_REASON_UNSPECIFIED: _ClassVar[RevisitReason]
    REVISIT_REASON_STALE: _ClassVar[RevisitReason]
    REVISIT_REASON_HUB: _ClassVar[RevisitReason]
    REVISIT_REASON_CHECK: _ClassVar[RevisitReason]

class NoticeOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NOTICE_OUTCOME_UNSPECIFIED: _ClassVar[NoticeOutcome]
    NOTICE_OUTCOME_NOTED: _ClassVar[NoticeOutcome]
    NOTICE_OUTCOME_REPEATED: _ClassVar[NoticeOutcome]
    NOTICE_OUTCOME_UNKNOWN: _ClassVar[NoticeOutcome]
    NOTICE_OUTCOME_INVALID: _ClassVar[NoticeOutcome]
REVISIT_REASON_UNSPECIFIED: RevisitReason
REVISIT_REASON_STALE: RevisitReason
REVISIT_REASON_HUB: RevisitReason
REVISIT_REASON_CHECK: RevisitReason
NOTICE_OUTCOME_UNSPECIFIED: NoticeOutcome
NOTICE_OUTCOME_NOTED: NoticeOutcome
NOTICE_OUTCOME_REPEATED: NoticeOutcome
NOTICE_OUTCOME_UNKNOWN: NoticeOutcome
NOTICE_OUTCOME_INVALID: NoticeOutcome

class IngestPagesRequest(_message.Message):
    __slots__ = ("crawl", "pages")
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    PAGES_FIELD_NUMBER: _ClassVar[int]
    crawl: str
    pages: _containers.RepeatedCompositeFieldContainer[_common_pb2.Page]
    def __init__(self, crawl: _Optional[str] = ..., pages: _Optional[_Iterable[_Union[_common_pb2.Page, _Mapping]]] = ...) -> None: ...

class PageResult(_message.Message):
    __slots__ = ("status", "site", "cluster", "stage", "links", "novel_chars", "event_seq", "learning", "thread_id", "page_type", "relevance", "next_fetch_time", "change_rate", "changed_share", "standing", "reserved_uses")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SITE_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    NOVEL_CHARS_FIELD_NUMBER: _ClassVar[int]
    EVENT_SEQ_FIELD_NUMBER: _ClassVar[int]
    LEARNING_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    NEXT_FETCH_TIME_FIELD_NUMBER: _ClassVar[int]
    CHANGE_RATE_FIELD_NUMBER: _ClassVar[int]
    CHANGED_SHARE_FIELD_NUMBER: _ClassVar[int]
    STANDING_FIELD_NUMBER: _ClassVar[int]
    RESERVED_USES_FIELD_NUMBER: _ClassVar[int]
    status: _common_pb2.ItemStatus
    site: str
    cluster: str
    stage: _common_pb2.SiteStage
    links: _common_pb2.LinkScores
    novel_chars: int
    event_seq: int
    learning: bool
    thread_id: str
    page_type: _common_pb2.PageType
    relevance: float
    next_fetch_time: _timestamp_pb2.Timestamp
    change_rate: float
    changed_share: float
    standing: Standing
    reserved_uses: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, status: _Optional[_Union[_common_pb2.ItemStatus, _Mapping]] = ..., site: _Optional[str] = ..., cluster: _Optional[str] = ..., stage: _Optional[_Union[_common_pb2.SiteStage, str]] = ..., links: _Optional[_Union[_common_pb2.LinkScores, _Mapping]] = ..., novel_chars: _Optional[int] = ..., event_seq: _Optional[int] = ..., learning: bool = ..., thread_id: _Optional[str] = ..., page_type: _Optional[_Union[_common_pb2.PageType, str]] = ..., relevance: _Optional[float] = ..., next_fetch_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., change_rate: _Optional[float] = ..., changed_share: _Optional[float] = ..., standing: _Optional[_Union[Standing, _Mapping]] = ..., reserved_uses: _Optional[_Iterable[str]] = ...) -> None: ...

class Standing(_message.Message):
    __slots__ = ("decision", "reason", "site_decision", "site_reason", "fetches_left", "spent")
    DECISION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SITE_DECISION_FIELD_NUMBER: _ClassVar[int]
    SITE_REASON_FIELD_NUMBER: _ClassVar[int]
    FETCHES_LEFT_FIELD_NUMBER: _ClassVar[int]
    SPENT_FIELD_NUMBER: _ClassVar[int]
    decision: _common_pb2.Decision
    reason: str
    site_decision: _common_pb2.Decision
    site_reason: str
    fetches_left: int
    spent: bool
    def __init__(self, decision: _Optional[_Union[_common_pb2.Decision, str]] = ..., reason: _Optional[str] = ..., site_decision: _Optional[_Union[_common_pb2.Decision, str]] = ..., site_reason: _Optional[str] = ..., fetches_left: _Optional[int] = ..., spent: bool = ...) -> None: ...

class IngestPagesResponse(_message.Message):
    __slots__ = ("results", "policy")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[PageResult]
    policy: str
    def __init__(self, results: _Optional[_Iterable[_Union[PageResult, _Mapping]]] = ..., policy: _Optional[str] = ...) -> None: ...

class CandidateLink(_message.Message):
    __slots__ = ("url", "ticket", "anchor_text")
    URL_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    ANCHOR_TEXT_FIELD_NUMBER: _ClassVar[int]
    url: str
    ticket: bytes
    anchor_text: str
    def __init__(self, url: _Optional[str] = ..., ticket: _Optional[bytes] = ..., anchor_text: _Optional[str] = ...) -> None: ...

class ScoreLinksRequest(_message.Message):
    __slots__ = ("crawl", "links", "explain")
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    crawl: str
    links: _containers.RepeatedCompositeFieldContainer[CandidateLink]
    explain: bool
    def __init__(self, crawl: _Optional[str] = ..., links: _Optional[_Iterable[_Union[CandidateLink, _Mapping]]] = ..., explain: bool = ...) -> None: ...

class ScoreLinksResponse(_message.Message):
    __slots__ = ("links", "policy", "stage", "event_seq", "explanations")
    LINKS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    EVENT_SEQ_FIELD_NUMBER: _ClassVar[int]
    EXPLANATIONS_FIELD_NUMBER: _ClassVar[int]
    links: _common_pb2.LinkScores
    policy: str
    stage: _common_pb2.SiteStage
    event_seq: int
    explanations: _containers.RepeatedCompositeFieldContainer[LinkExplanation]
    def __init__(self, links: _Optional[_Union[_common_pb2.LinkScores, _Mapping]] = ..., policy: _Optional[str] = ..., stage: _Optional[_Union[_common_pb2.SiteStage, str]] = ..., event_seq: _Optional[int] = ..., explanations: _Optional[_Iterable[_Union[LinkExplanation, _Mapping]]] = ...) -> None: ...

class BucketInFlight(_message.Message):
    __slots__ = ("bucket", "count")
    BUCKET_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    bucket: str
    count: int
    def __init__(self, bucket: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class RankBucketsRequest(_message.Message):
    __slots__ = ("crawl", "buckets", "n", "waiting", "in_flight", "fill")
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    BUCKETS_FIELD_NUMBER: _ClassVar[int]
    N_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    FILL_FIELD_NUMBER: _ClassVar[int]
    crawl: str
    buckets: _containers.RepeatedScalarFieldContainer[str]
    n: int
    waiting: _containers.RepeatedScalarFieldContainer[int]
    in_flight: _containers.RepeatedCompositeFieldContainer[BucketInFlight]
    fill: bool
    def __init__(self, crawl: _Optional[str] = ..., buckets: _Optional[_Iterable[str]] = ..., n: _Optional[int] = ..., waiting: _Optional[_Iterable[int]] = ..., in_flight: _Optional[_Iterable[_Union[BucketInFlight, _Mapping]]] = ..., fill: bool = ...) -> None: ...

class RankBucketsResponse(_message.Message):
    __slots__ = ("order", "values", "policy", "event_seq", "urls", "decision")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    EVENT_SEQ_FIELD_NUMBER: _ClassVar[int]
    URLS_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    order: _containers.RepeatedScalarFieldContainer[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    policy: str
    event_seq: int
    urls: _containers.RepeatedScalarFieldContainer[int]
    decision: _common_pb2.Decision
    def __init__(self, order: _Optional[_Iterable[int]] = ..., values: _Optional[_Iterable[float]] = ..., policy: _Optional[str] = ..., event_seq: _Optional[int] = ..., urls: _Optional[_Iterable[int]] = ..., decision: _Optional[_Union[_common_pb2.Decision, str]] = ...) -> None: ...

class WaitingSite(_message.Message):
    __slots__ = ("site", "waiting")
    SITE_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    site: str
    waiting: int
    def __init__(self, site: _Optional[str] = ..., waiting: _Optional[int] = ...) -> None: ...

class RankSitesRequest(_message.Message):
    __slots__ = ("crawl", "sites", "n")
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    SITES_FIELD_NUMBER: _ClassVar[int]
    N_FIELD_NUMBER: _ClassVar[int]
    crawl: str
    sites: _containers.RepeatedCompositeFieldContainer[WaitingSite]
    n: int
    def __init__(self, crawl: _Optional[str] = ..., sites: _Optional[_Iterable[_Union[WaitingSite, _Mapping]]] = ..., n: _Optional[int] = ...) -> None: ...

class RankSitesResponse(_message.Message):
    __slots__ = ("order", "values", "urls", "policy", "event_seq")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    URLS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    EVENT_SEQ_FIELD_NUMBER: _ClassVar[int]
    order: _containers.RepeatedScalarFieldContainer[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    urls: _containers.RepeatedScalarFieldContainer[int]
    policy: str
    event_seq: int
    def __init__(self, order: _Optional[_Iterable[int]] = ..., values: _Optional[_Iterable[float]] = ..., urls: _Optional[_Iterable[int]] = ..., policy: _Optional[str] = ..., event_seq: _Optional[int] = ...) -> None: ...

class Feedback(_message.Message):
    __slots__ = ("event_id", "url", "ticket", "reward", "item_count", "relevant")
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    REWARD_FIELD_NUMBER: _ClassVar[int]
    ITEM_COUNT_FIELD_NUMBER: _ClassVar[int]
    RELEVANT_FIELD_NUMBER: _ClassVar[int]
    event_id: str
    url: str
    ticket: bytes
    reward: float
    item_count: int
    relevant: bool
    def __init__(self, event_id: _Optional[str] = ..., url: _Optional[str] = ..., ticket: _Optional[bytes] = ..., reward: _Optional[float] = ..., item_count: _Optional[int] = ..., relevant: bool = ...) -> None: ...

class ReportFeedbackRequest(_message.Message):
    __slots__ = ("crawl", "feedback")
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    FEEDBACK_FIELD_NUMBER: _ClassVar[int]
    crawl: str
    feedback: _containers.RepeatedCompositeFieldContainer[Feedback]
    def __init__(self, crawl: _Optional[str] = ..., feedback: _Optional[_Iterable[_Union[Feedback, _Mapping]]] = ...) -> None: ...

class ReportFeedbackResponse(_message.Message):
    __slots__ = ("statuses",)
    STATUSES_FIELD_NUMBER: _ClassVar[int]
    statuses: _containers.RepeatedCompositeFieldContainer[_common_pb2.ItemStatus]
    def __init__(self, statuses: _Optional[_Iterable[_Union[_common_pb2.ItemStatus, _Mapping]]] = ...) -> None: ...

class ScoreTerm(_message.Message):
    __slots__ = ("name", "value", "description")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: float
    description: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[float] = ..., description: _Optional[str] = ...) -> None: ...

class LinkExplanation(_message.Message):
    __slots__ = ("status", "url", "score", "bucket", "summary", "terms", "source_cluster", "tag_path", "stage", "skip_reason")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    BUCKET_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_CLUSTER_FIELD_NUMBER: _ClassVar[int]
    TAG_PATH_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    SKIP_REASON_FIELD_NUMBER: _ClassVar[int]
    status: _common_pb2.ItemStatus
    url: str
    score: float
    bucket: str
    summary: str
    terms: _containers.RepeatedCompositeFieldContainer[ScoreTerm]
    source_cluster: str
    tag_path: str
    stage: _common_pb2.SiteStage
    skip_reason: _common_pb2.SkipReason
    def __init__(self, status: _Optional[_Union[_common_pb2.ItemStatus, _Mapping]] = ..., url: _Optional[str] = ..., score: _Optional[float] = ..., bucket: _Optional[str] = ..., summary: _Optional[str] = ..., terms: _Optional[_Iterable[_Union[ScoreTerm, _Mapping]]] = ..., source_cluster: _Optional[str] = ..., tag_path: _Optional[str] = ..., stage: _Optional[_Union[_common_pb2.SiteStage, str]] = ..., skip_reason: _Optional[_Union[_common_pb2.SkipReason, str]] = ...) -> None: ...

class SuggestExamplesRequest(_message.Message):
    __slots__ = ("crawl", "site", "max_results")
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    SITE_FIELD_NUMBER: _ClassVar[int]
    MAX_RESULTS_FIELD_NUMBER: _ClassVar[int]
    crawl: str
    site: str
    max_results: int
    def __init__(self, crawl: _Optional[str] = ..., site: _Optional[str] = ..., max_results: _Optional[int] = ...) -> None: ...

class SuggestedExample(_message.Message):
    __slots__ = ("url", "site", "reason", "likeness", "pages_alike", "value")
    URL_FIELD_NUMBER: _ClassVar[int]
    SITE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    LIKENESS_FIELD_NUMBER: _ClassVar[int]
    PAGES_ALIKE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    url: str
    site: str
    reason: str
    likeness: float
    pages_alike: int
    value: float
    def __init__(self, url: _Optional[str] = ..., site: _Optional[str] = ..., reason: _Optional[str] = ..., likeness: _Optional[float] = ..., pages_alike: _Optional[int] = ..., value: _Optional[float] = ...) -> None: ...

class SuggestExamplesResponse(_message.Message):
    __slots__ = ("examples", "policy", "event_seq")
    EXAMPLES_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    EVENT_SEQ_FIELD_NUMBER: _ClassVar[int]
    examples: _containers.RepeatedCompositeFieldContainer[SuggestedExample]
    policy: str
    event_seq: int
    def __init__(self, examples: _Optional[_Iterable[_Union[SuggestedExample, _Mapping]]] = ..., policy: _Optional[str] = ..., event_seq: _Optional[int] = ...) -> None: ...

class RankRevisitsRequest(_message.Message):
    __slots__ = ("crawl", "site", "max_results", "now")
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    SITE_FIELD_NUMBER: _ClassVar[int]
    MAX_RESULTS_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    crawl: str
    site: str
    max_results: int
    now: _timestamp_pb2.Timestamp
    def __init__(self, crawl: _Optional[str] = ..., site: _Optional[str] = ..., max_results: _Optional[int] = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class DuePage(_message.Message):
    __slots__ = ("url", "site", "worth", "reason", "last_fetch_time", "change_rate", "etag", "last_modified", "kind")
    URL_FIELD_NUMBER: _ClassVar[int]
    SITE_FIELD_NUMBER: _ClassVar[int]
    WORTH_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    LAST_FETCH_TIME_FIELD_NUMBER: _ClassVar[int]
    CHANGE_RATE_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    LAST_MODIFIED_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    url: str
    site: str
    worth: float
    reason: RevisitReason
    last_fetch_time: _timestamp_pb2.Timestamp
    change_rate: float
    etag: str
    last_modified: str
    kind: _common_pb2.PageKind
    def __init__(self, url: _Optional[str] = ..., site: _Optional[str] = ..., worth: _Optional[float] = ..., reason: _Optional[_Union[RevisitReason, str]] = ..., last_fetch_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., change_rate: _Optional[float] = ..., etag: _Optional[str] = ..., last_modified: _Optional[str] = ..., kind: _Optional[_Union[_common_pb2.PageKind, str]] = ...) -> None: ...

class RankRevisitsResponse(_message.Message):
    __slots__ = ("pages", "event_seq")
    PAGES_FIELD_NUMBER: _ClassVar[int]
    EVENT_SEQ_FIELD_NUMBER: _ClassVar[int]
    pages: _containers.RepeatedCompositeFieldContainer[DuePage]
    event_seq: int
    def __init__(self, pages: _Optional[_Iterable[_Union[DuePage, _Mapping]]] = ..., event_seq: _Optional[int] = ...) -> None: ...

class NotifyChangedRequest(_message.Message):
    __slots__ = ("crawl", "urls", "change_time")
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    URLS_FIELD_NUMBER: _ClassVar[int]
    CHANGE_TIME_FIELD_NUMBER: _ClassVar[int]
    crawl: str
    urls: _containers.RepeatedScalarFieldContainer[str]
    change_time: _timestamp_pb2.Timestamp
    def __init__(self, crawl: _Optional[str] = ..., urls: _Optional[_Iterable[str]] = ..., change_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class NoticeStatus(_message.Message):
    __slots__ = ("outcome", "problems")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    outcome: NoticeOutcome
    problems: _containers.RepeatedCompositeFieldContainer[_common_pb2.FieldProblem]
    def __init__(self, outcome: _Optional[_Union[NoticeOutcome, str]] = ..., problems: _Optional[_Iterable[_Union[_common_pb2.FieldProblem, _Mapping]]] = ...) -> None: ...

class NotifyChangedResponse(_message.Message):
    __slots__ = ("statuses",)
    STATUSES_FIELD_NUMBER: _ClassVar[int]
    statuses: _containers.RepeatedCompositeFieldContainer[NoticeStatus]
    def __init__(self, statuses: _Optional[_Iterable[_Union[NoticeStatus, _Mapping]]] = ...) -> None: ...
