from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PolicySpec(_message.Message):
    __slots__ = ("breadth_first", "uniform_random", "source_ucc", "source_target", "harvest", "in_degree", "pagerank", "opic", "anthelion", "focus", "news_prefix", "behavior_fetch", "behavior_discovery", "topic", "keyword", "newest", "external")
    BREADTH_FIRST_FIELD_NUMBER: _ClassVar[int]
    UNIFORM_RANDOM_FIELD_NUMBER: _ClassVar[int]
    SOURCE_UCC_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TARGET_FIELD_NUMBER: _ClassVar[int]
    HARVEST_FIELD_NUMBER: _ClassVar[int]
    IN_DEGREE_FIELD_NUMBER: _ClassVar[int]
    PAGERANK_FIELD_NUMBER: _ClassVar[int]
    OPIC_FIELD_NUMBER: _ClassVar[int]
    ANTHELION_FIELD_NUMBER: _ClassVar[int]
    FOCUS_FIELD_NUMBER: _ClassVar[int]
    NEWS_PREFIX_FIELD_NUMBER: _ClassVar[int]
    BEHAVIOR_FETCH_FIELD_NUMBER: _ClassVar[int]
    BEHAVIOR_DISCOVERY_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    KEYWORD_FIELD_NUMBER: _ClassVar[int]
    NEWEST_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_FIELD_NUMBER: _ClassVar[int]
    breadth_first: BreadthFirstParams
    uniform_random: UniformRandomParams
    source_ucc: SourceUccParams
    source_target: SourceTargetParams
    harvest: HarvestParams
    in_degree: InDegreeParams
    pagerank: PagerankParams
    opic: OpicParams
    anthelion: AnthelionParams
    focus: FocusParams
    news_prefix: NewsPrefixParams
    behavior_fetch: BehaviorFetchParams
    behavior_discovery: BehaviorDiscoveryParams
    topic: TopicParams
    keyword: KeywordParams
    newest: NewestParams
    external: ExternalPolicy
    def __init__(self, breadth_first: _Optional[_Union[BreadthFirstParams, _Mapping]] = ..., uniform_random: _Optional[_Union[UniformRandomParams, _Mapping]] = ..., source_ucc: _Optional[_Union[SourceUccParams, _Mapping]] = ..., source_target: _Optional[_Union[SourceTargetParams, _Mapping]] = ..., harvest: _Optional[_Union[HarvestParams, _Mapping]] = ..., in_degree: _Optional[_Union[InDegreeParams, _Mapping]] = ..., pagerank: _Optional[_Union[PagerankParams, _Mapping]] = ..., opic: _Optional[_Union[OpicParams, _Mapping]] = ..., anthelion: _Optional[_Union[AnthelionParams, _Mapping]] = ..., focus: _Optional[_Union[FocusParams, _Mapping]] = ..., news_prefix: _Optional[_Union[NewsPrefixParams, _Mapping]] = ..., behavior_fetch: _Optional[_Union[BehaviorFetchParams, _Mapping]] = ..., behavior_discovery: _Optional[_Union[BehaviorDiscoveryParams, _Mapping]] = ..., topic: _Optional[_Union[TopicParams, _Mapping]] = ..., keyword: _Optional[_Union[KeywordParams, _Mapping]] = ..., newest: _Optional[_Union[NewestParams, _Mapping]] = ..., external: _Optional[_Union[ExternalPolicy, _Mapping]] = ...) -> None: ...

class BreadthFirstParams(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class UniformRandomParams(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SourceUccParams(_message.Message):
    __slots__ = ("alpha", "without_dsim", "without_balance", "without_info")
    ALPHA_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_DSIM_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_BALANCE_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_INFO_FIELD_NUMBER: _ClassVar[int]
    alpha: float
    without_dsim: bool
    without_balance: bool
    without_info: bool
    def __init__(self, alpha: _Optional[float] = ..., without_dsim: bool = ..., without_balance: bool = ..., without_info: bool = ...) -> None: ...

class SourceTargetParams(_message.Message):
    __slots__ = ("example_url", "example_html", "alpha", "multi_hop")
    EXAMPLE_URL_FIELD_NUMBER: _ClassVar[int]
    EXAMPLE_HTML_FIELD_NUMBER: _ClassVar[int]
    ALPHA_FIELD_NUMBER: _ClassVar[int]
    MULTI_HOP_FIELD_NUMBER: _ClassVar[int]
    example_url: str
    example_html: str
    alpha: float
    multi_hop: bool
    def __init__(self, example_url: _Optional[str] = ..., example_html: _Optional[str] = ..., alpha: _Optional[float] = ..., multi_hop: bool = ...) -> None: ...

class HarvestParams(_message.Message):
    __slots__ = ("exploration", "hub_weight", "curiosity")
    EXPLORATION_FIELD_NUMBER: _ClassVar[int]
    HUB_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    CURIOSITY_FIELD_NUMBER: _ClassVar[int]
    exploration: float
    hub_weight: float
    curiosity: float
    def __init__(self, exploration: _Optional[float] = ..., hub_weight: _Optional[float] = ..., curiosity: _Optional[float] = ...) -> None: ...

class InDegreeParams(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PagerankParams(_message.Message):
    __slots__ = ("damping", "every")
    DAMPING_FIELD_NUMBER: _ClassVar[int]
    EVERY_FIELD_NUMBER: _ClassVar[int]
    damping: float
    every: int
    def __init__(self, damping: _Optional[float] = ..., every: _Optional[int] = ...) -> None: ...

class OpicParams(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AnthelionParams(_message.Message):
    __slots__ = ("value_function", "explore_prob", "decay_pulls", "classifier", "hub_weight")
    VALUE_FUNCTION_FIELD_NUMBER: _ClassVar[int]
    EXPLORE_PROB_FIELD_NUMBER: _ClassVar[int]
    DECAY_PULLS_FIELD_NUMBER: _ClassVar[int]
    CLASSIFIER_FIELD_NUMBER: _ClassVar[int]
    HUB_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    value_function: str
    explore_prob: float
    decay_pulls: int
    classifier: str
    hub_weight: float
    def __init__(self, value_function: _Optional[str] = ..., explore_prob: _Optional[float] = ..., decay_pulls: _Optional[int] = ..., classifier: _Optional[str] = ..., hub_weight: _Optional[float] = ...) -> None: ...

class FocusParams(_message.Message):
    __slots__ = ("fallback", "page_types", "dry_pages")
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    PAGE_TYPES_FIELD_NUMBER: _ClassVar[int]
    DRY_PAGES_FIELD_NUMBER: _ClassVar[int]
    fallback: str
    page_types: str
    dry_pages: int
    def __init__(self, fallback: _Optional[str] = ..., page_types: _Optional[str] = ..., dry_pages: _Optional[int] = ...) -> None: ...

class NewsPrefixParams(_message.Message):
    __slots__ = ("fallback",)
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    fallback: str
    def __init__(self, fallback: _Optional[str] = ...) -> None: ...

class BehaviorFetchParams(_message.Message):
    __slots__ = ("fallback",)
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    fallback: str
    def __init__(self, fallback: _Optional[str] = ...) -> None: ...

class BehaviorDiscoveryParams(_message.Message):
    __slots__ = ("fallback",)
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    fallback: str
    def __init__(self, fallback: _Optional[str] = ...) -> None: ...

class TopicParams(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class KeywordParams(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class NewestParams(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ExternalPolicy(_message.Message):
    __slots__ = ("name", "params")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    name: str
    params: _struct_pb2.Struct
    def __init__(self, name: _Optional[str] = ..., params: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...
