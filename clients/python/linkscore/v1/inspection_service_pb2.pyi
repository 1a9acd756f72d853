from linkscore.v1 import common_pb2 as _common_pb2
from linkscore.v1 import site_model_service_pb2 as _site_model_service_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListTemplatesRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class TemplateExit(_message.Message):
    __slots__ = ("tag_path", "link_count", "followed_count", "destination", "destination_prob", "page_links")
    TAG_PATH_FIELD_NUMBER: _ClassVar[int]
    LINK_COUNT_FIELD_NUMBER: _ClassVar[int]
    FOLLOWED_COUNT_FIELD_NUMBER: _ClassVar[int]
    DESTINATION_FIELD_NUMBER: _ClassVar[int]
    DESTINATION_PROB_FIELD_NUMBER: _ClassVar[int]
    PAGE_LINKS_FIELD_NUMBER: _ClassVar[int]
    tag_path: str
    link_count: int
    followed_count: int
    destination: str
    destination_prob: float
    page_links: bool
    def __init__(self, tag_path: _Optional[str] = ..., link_count: _Optional[int] = ..., followed_count: _Optional[int] = ..., destination: _Optional[str] = ..., destination_prob: _Optional[float] = ..., page_links: bool = ...) -> None: ...

class Template(_message.Message):
    __slots__ = ("name", "sample_pages", "crawled_pages", "example_url", "tag_paths", "min_depth", "judged_count", "reward", "exits")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_PAGES_FIELD_NUMBER: _ClassVar[int]
    CRAWLED_PAGES_FIELD_NUMBER: _ClassVar[int]
    EXAMPLE_URL_FIELD_NUMBER: _ClassVar[int]
    TAG_PATHS_FIELD_NUMBER: _ClassVar[int]
    MIN_DEPTH_FIELD_NUMBER: _ClassVar[int]
    JUDGED_COUNT_FIELD_NUMBER: _ClassVar[int]
    REWARD_FIELD_NUMBER: _ClassVar[int]
    EXITS_FIELD_NUMBER: _ClassVar[int]
    name: str
    sample_pages: int
    crawled_pages: int
    example_url: str
    tag_paths: _containers.RepeatedScalarFieldContainer[str]
    min_depth: int
    judged_count: int
    reward: float
    exits: _containers.RepeatedCompositeFieldContainer[TemplateExit]
    def __init__(self, name: _Optional[str] = ..., sample_pages: _Optional[int] = ..., crawled_pages: _Optional[int] = ..., example_url: _Optional[str] = ..., tag_paths: _Optional[_Iterable[str]] = ..., min_depth: _Optional[int] = ..., judged_count: _Optional[int] = ..., reward: _Optional[float] = ..., exits: _Optional[_Iterable[_Union[TemplateExit, _Mapping]]] = ...) -> None: ...

class ListTemplatesResponse(_message.Message):
    __slots__ = ("templates", "stage", "learning", "sample_count", "next_learning_at", "reward_source")
    TEMPLATES_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    LEARNING_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_COUNT_FIELD_NUMBER: _ClassVar[int]
    NEXT_LEARNING_AT_FIELD_NUMBER: _ClassVar[int]
    REWARD_SOURCE_FIELD_NUMBER: _ClassVar[int]
    templates: _containers.RepeatedCompositeFieldContainer[Template]
    stage: _common_pb2.SiteStage
    learning: bool
    sample_count: int
    next_learning_at: int
    reward_source: _site_model_service_pb2.RewardSource
    def __init__(self, templates: _Optional[_Iterable[_Union[Template, _Mapping]]] = ..., stage: _Optional[_Union[_common_pb2.SiteStage, str]] = ..., learning: bool = ..., sample_count: _Optional[int] = ..., next_learning_at: _Optional[int] = ..., reward_source: _Optional[_Union[_site_model_service_pb2.RewardSource, str]] = ...) -> None: ...

class ListTemplatePagesRequest(_message.Message):
    __slots__ = ("name", "template", "max_results")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    MAX_RESULTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    template: str
    max_results: int
    def __init__(self, name: _Optional[str] = ..., template: _Optional[str] = ..., max_results: _Optional[int] = ...) -> None: ...

class InLink(_message.Message):
    __slots__ = ("source", "tag_path")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TAG_PATH_FIELD_NUMBER: _ClassVar[int]
    source: str
    tag_path: str
    def __init__(self, source: _Optional[str] = ..., tag_path: _Optional[str] = ...) -> None: ...

class TemplatePage(_message.Message):
    __slots__ = ("url", "depth", "reward", "in_links")
    URL_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    REWARD_FIELD_NUMBER: _ClassVar[int]
    IN_LINKS_FIELD_NUMBER: _ClassVar[int]
    url: str
    depth: int
    reward: float
    in_links: _containers.RepeatedCompositeFieldContainer[InLink]
    def __init__(self, url: _Optional[str] = ..., depth: _Optional[int] = ..., reward: _Optional[float] = ..., in_links: _Optional[_Iterable[_Union[InLink, _Mapping]]] = ...) -> None: ...

class ListTemplatePagesResponse(_message.Message):
    __slots__ = ("pages",)
    PAGES_FIELD_NUMBER: _ClassVar[int]
    pages: _containers.RepeatedCompositeFieldContainer[TemplatePage]
    def __init__(self, pages: _Optional[_Iterable[_Union[TemplatePage, _Mapping]]] = ...) -> None: ...

class GetHarvestRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class HarvestPoint(_message.Message):
    __slots__ = ("first_fetch", "fetch_count", "text_reward", "reported_count", "reward", "copy_count")
    FIRST_FETCH_FIELD_NUMBER: _ClassVar[int]
    FETCH_COUNT_FIELD_NUMBER: _ClassVar[int]
    TEXT_REWARD_FIELD_NUMBER: _ClassVar[int]
    REPORTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    REWARD_FIELD_NUMBER: _ClassVar[int]
    COPY_COUNT_FIELD_NUMBER: _ClassVar[int]
    first_fetch: int
    fetch_count: int
    text_reward: float
    reported_count: int
    reward: float
    copy_count: int
    def __init__(self, first_fetch: _Optional[int] = ..., fetch_count: _Optional[int] = ..., text_reward: _Optional[float] = ..., reported_count: _Optional[int] = ..., reward: _Optional[float] = ..., copy_count: _Optional[int] = ...) -> None: ...

class GetHarvestResponse(_message.Message):
    __slots__ = ("points", "reward_source")
    POINTS_FIELD_NUMBER: _ClassVar[int]
    REWARD_SOURCE_FIELD_NUMBER: _ClassVar[int]
    points: _containers.RepeatedCompositeFieldContainer[HarvestPoint]
    reward_source: _site_model_service_pb2.RewardSource
    def __init__(self, points: _Optional[_Iterable[_Union[HarvestPoint, _Mapping]]] = ..., reward_source: _Optional[_Union[_site_model_service_pb2.RewardSource, str]] = ...) -> None: ...
