"""Small builders and readers around the generated messages, and whether an answer can be read."""

from __future__ import annotations

import base64
import math
import os
import string
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict, TypeVar
from urllib.parse import quote

from google.protobuf import field_mask_pb2
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from linkscore.v1 import common_pb2, policy_pb2
from linkscore.v1 import crawl_service_pb2 as crawl_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2
from linkscore.v1.site_model_service_pb2 import RuleFormat

Policy = str | tuple[str, Mapping[str, Any]] | policy_pb2.PolicySpec
"""A policy by name, by name and parameters, or as the message."""

T = TypeVar("T", bound=Message)

Link = str | tuple[str, bytes] | scoring_pb2.CandidateLink
"""A URL, a URL and the ticket it came with, or the message."""

Wanted = str | Mapping[str, Any] | crawl_pb2.Wanted
"""What a crawl is for: a query, fields of the message `Wanted` (and ``query``) by name, or the message."""

Budget = Mapping[str, float] | crawl_pb2.Budget
"""How far a crawl may go: fields of the message `Budget` by name, or the message."""
Revisit = Mapping[str, Any] | crawl_pb2.Revisit
"""How a crawl fetches pages again: fields of the message `Revisit` by name, or the message."""

Buckets = Iterable[str] | Mapping[str, int]
"""Names of buckets, or how many links of each wait."""

Example = str | tuple[str, bytes] | crawl_pb2.ExamplePage
"""An example of the pages wanted: ``URL``, ``URL=FILE`` of HTML, ``FILE``, (URL, body), or the message."""

Sites = Iterable[str] | Mapping[str, int | None]
"""Hosts, or how many URLs of each host wait (None: enough)."""

# The first HTTP status of a fetch that failed (RFC 9110, section 15.5).
FIRST_FAILURE = 400
MAX_EXAMPLE_BYTES = 10_000_000  # of an example's HTML, as the contract has it
_BASE64URL = frozenset(string.ascii_letters + string.digits + "-_")


class CrawlOptions(TypedDict, total=False):
    """What a crawl may be created with; what is left out has the server's default."""

    policy: Policy | None  # that scores: a name, (name, parameters) or the message
    scope: int  # `CrawlScope`: which links belong to the crawl
    learning: crawl_pb2.LearningConfig | None  # how site models are learned
    observe_only: bool  # learn, and leave the crawl its own order
    seed: int  # of all random draws
    examples: Sequence[Example]  # of the pages wanted, at most 100; see `example_page`
    wanted: Wanted | None  # what it is for in words; without a policy `topic` scores. See `wanted_spec`
    groups: int  # 1 to 256, that its sites are divided into so that several processes share the crawl
    revisit: Revisit | None  # fetch pages again, and learn how often they change. Absent: no
    experience: Sequence[bytes]  # of other sites: files of `export_rules`, `experience`; at most 16
    budget: Budget | None  # how far it may go: ``{"max_fetches": 5000, "max_trap_share": 0.05}``
    copies: Mapping[str, float] | None  # skip links that lead to copies: ``{"skip_above": 0.9}``
    respect: Sequence[str]  # uses that it is for and that sites may reserve: ``["ai-train"]``


# Why links are to skip for good; those of a crawl or site that has stopped wait for more budget.
_FOR_GOOD = (common_pb2.SKIP_REASON_TRAP, common_pb2.SKIP_REASON_RESPECT, common_pb2.SKIP_REASON_COPY)


def is_dropped(reason: int) -> bool:
    """Say whether a `SkipReason` is for good; one that this client does not know is not."""
    return reason in _FOR_GOOD


@dataclass(frozen=True, slots=True)
class Row:
    """One scored link, read from the columns of `LinkScores`."""

    index: int  # place in the answer: input order, or document order when the server extracted the links
    url: str  # absolute; empty in answers of `score_links`, which are in input order
    score: float  # [0, 1], higher first
    bucket: str  # name of the group whose value moves together
    bucket_value: float  # what `rank_buckets` would answer for `bucket` now
    ticket: bytes  # opaque, to keep with the URL and send back
    verdict: int  # `Verdict` of filtering policies
    skip_reason: int  # `SkipReason` of a link that a setting of the crawl says to skip; 0 if none does
    url_type: int  # `UrlType`; unspecified if the policy tells none
    in_scope: bool  # False for links outside the crawl's scope
    status: common_pb2.ItemStatus | None  # why the link could not be used; None if it could

    @property
    def usable(self) -> bool:
        """Whether the link was scored."""
        return self.status is None or self.status.code != common_pb2.ITEM_CODE_INVALID


def rows(links: common_pb2.LinkScores) -> Iterator[Row]:
    """Give one object for each link of an answer, in its order.

    Examples
    --------
    >>> from linkscore.v1 import common_pb2
    >>> urls = ["http://a.org/1", "http://a.org/2"]
    >>> buckets = {"bucket_names": ["all"], "bucket_values": [0.7], "buckets": [0, 0]}
    >>> links = common_pb2.LinkScores(urls=urls, scores=[0.5, 0.9], **buckets)
    >>> [(row.url, row.score, row.bucket) for row in rows(links)]
    [('http://a.org/1', 0.5, 'all'), ('http://a.org/2', 0.9, 'all')]
    """
    urls, verdicts, scope = links.urls, links.verdicts, links.in_scope
    names, values, types = links.bucket_names, links.ticket_values, links.url_types
    reasons = links.skip_reasons
    for i, score in enumerate(links.scores):
        yield Row(
            index=i,
            url=urls[i] if urls else "",
            score=score,
            bucket=names[links.buckets[i]] if links.buckets else "",
            bucket_value=links.bucket_values[links.buckets[i]] if links.buckets else score,
            ticket=values[links.tickets[i]] if links.tickets else b"",
            verdict=verdicts[i] if verdicts else common_pb2.VERDICT_UNSPECIFIED,
            skip_reason=reasons[i] if reasons else 0,
            url_type=types[i] if types else common_pb2.URL_TYPE_UNSPECIFIED,
            in_scope=scope[i] if scope else True,
            status=links.statuses.get(i),
        )


def wanted_spec(wanted: Wanted | None) -> crawl_pb2.Wanted | None:
    """Give the message of what a crawl is for, in words.

    Parameters
    ----------
    wanted
        A query; or a mapping of ``query`` (one text), ``queries``, ``samples`` (URLs, or mappings of ``url``,
        ``text``, ``body``, ``unwanted``); or the message.

    Raises
    ------
    ValueError
        A name is unknown, or a value is of the wrong kind.

    Examples
    --------
    >>> wanted_spec({"query": "pricing and limits"}).queries
    ['pricing and limits']
    >>> wanted_spec({"quarry": "pricing"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: wanted: must be some of queries, samples, ...
    """
    if wanted is None or isinstance(wanted, crawl_pb2.Wanted):
        return wanted
    given: Any = {"query": wanted} if isinstance(wanted, str) else wanted
    if isinstance(given, Mapping):
        given = dict(given)
        query = [given.pop("query")] if "query" in given else []
        if not isinstance(queries := given.get("queries", ()), str):
            given["queries"] = [*query, *queries]
        if not isinstance(samples := given.get("samples", ""), str):
            given["samples"] = [{"url": one} if isinstance(one, str) else one for one in samples]
    return filled(crawl_pb2.Wanted, given, "wanted")


def message_of(kind: type[T], given: Any) -> T | None:
    """Give the message `Budget`, `Copies` or `Revisit` of fields by name; a message, or None, stays.

    ValueError if a name is unknown, or a value is of the wrong kind.

    >>> message_of(crawl_pb2.Budget, {"max_fetches": 5000}).max_fetches
    5000
    """
    return given if given is None or isinstance(given, kind) else filled(kind, given, kind.__name__.lower())


_MUST_BE = {
    FieldDescriptor.CPPTYPE_DOUBLE: "a number",
    FieldDescriptor.CPPTYPE_UINT32: "a whole number from 0 to 4,294,967,295",
    FieldDescriptor.CPPTYPE_BOOL: "True or False",
    FieldDescriptor.CPPTYPE_STRING: "a text",
    FieldDescriptor.CPPTYPE_MESSAGE: "a timedelta, or messages",
}


def filled(kind: type[T], given: Any, option: str) -> T:
    """Give the message of fields by name; ValueError names the option, the field and its form."""
    names = kind.DESCRIPTOR.fields_by_name
    if not isinstance(given, Mapping) or not set(given) <= set(names):
        form = f"must be some of {', '.join(names)}, by name"
        raise ValueError(f"{option}: {form if names else 'takes no parameters'}, got {given!r}")
    for name, value in given.items():
        field = names[name]
        if field.is_repeated and isinstance(value, str):  # protobuf would take its letters
            raise ValueError(f"{option}: {name} must be a list, got {value!r}")
        try:
            if isinstance(value, bool) and field.cpp_type != field.CPPTYPE_BOOL:
                raise TypeError  # protobuf would take it for a number
            kind(**{name: value})
        except (TypeError, ValueError):
            form = (
                f"one of {', '.join(field.enum_type.values_by_name)}"
                if field.enum_type
                else _MUST_BE.get(field.cpp_type, "a whole number from 0 to 2^64 - 1")
            )
            raise ValueError(f"{option}: {name} must be {form}, got {value!r}") from None
        if isinstance(value, int | float) and not 0 <= value < math.inf:
            raise ValueError(f"{option}: {name} must be a number from 0, got {value!r}")
    return kind(**given)


def page(
    *,
    url: str,
    body: bytes | None = None,
    status_code: int = 0,
    final_url: str = "",
    content_type: str = "",
    content_encoding: str = "",
    fetch_error: str = "",
    ticket: bytes = b"",
    event_id: str | None = None,
    fetch_time: datetime | None = None,
    outlinks: list[common_pb2.Outlink] | None = None,
    not_modified: bool = False,
    kind: common_pb2.PageKind = common_pb2.PAGE_KIND_UNSPECIFIED,
    headers: Iterable[tuple[str, str]] = (),
) -> common_pb2.Page:
    """Build the message of one fetch, failed ones included.

    `status_code` is 200 when there is content and nothing else is said. `event_id` is a fresh UUID unless
    given, so that a retried call is not applied twice. `fetch_time` without a zone is UTC. `not_modified`
    says that the page is as it was at the fetch before, as a status of 304 does; send no body then. `headers`
    are read of a crawl with `respect`.

    Examples
    --------
    >>> page(url="http://a.org/", body=b"<p>Hello").status_code
    200
    >>> page(url="http://a.org/gone", status_code=404).WhichOneof("content") is None
    True
    >>> page(url="http://a.org/slow", fetch_error="timeout").fetch_error
    'timeout'
    """
    made = common_pb2.Page(
        event_id=uuid.uuid4().hex if event_id is None else event_id,
        url=url,
        final_url=final_url,
        status_code=status_code,
        fetch_error=fetch_error,
        content_type=content_type,
        content_encoding=content_encoding,
        outlinks=outlinks or (),
        ticket=ticket,
        body=body,
        not_modified=not_modified,
        kind=kind,
        headers=[common_pb2.Header(name=name, value=value) for name, value in headers],
        fetch_time=fetch_time,
    )
    if not status_code and made.WhichOneof("content"):
        made.status_code = 200
    return made


def failed_page(
    *,
    url: str,
    status_code: int = 0,
    fetch_error: str = "",
    ticket: bytes = b"",
    event_id: str | None = None,
) -> common_pb2.Page:
    """Build the message of a fetch that brought no page.

    Raises
    ------
    ValueError
        Neither `status_code` (400 and more) nor `fetch_error` says that it failed.

    Examples
    --------
    >>> failed_page(url="http://a.org/gone", status_code=404).status_code
    404
    """
    if status_code < FIRST_FAILURE and not fetch_error:
        raise ValueError(
            f"status_code must be {FIRST_FAILURE} or more, or fetch_error say why, got {status_code}"
        )
    return page(url=url, status_code=status_code, fetch_error=fetch_error, ticket=ticket, event_id=event_id)


def feedback(
    *, url: str, reward: float, ticket: bytes = b"", event_id: str | None = None
) -> scoring_pb2.Feedback:
    """Build the message that says what a page was worth, in [0, 1]; `event_id` is a fresh UUID unless given.

    Examples
    --------
    >>> feedback(url="http://a.org/thread/1", reward=1.0).reward
    1.0
    """
    return scoring_pb2.Feedback(
        event_id=uuid.uuid4().hex if event_id is None else event_id, url=url, ticket=ticket, reward=reward
    )


def ticket_text(ticket: bytes) -> str:
    """Write a ticket as text, for queues that keep strings: base64url without padding.

    Examples
    --------
    >>> ticket_text(bytes([251, 240]))
    '-_A'
    """
    return base64.urlsafe_b64encode(ticket).rstrip(b"=").decode("ascii")


def ticket_bytes(text: str) -> bytes:
    """Read a ticket that `ticket_text` wrote.

    Raises
    ------
    ValueError
        `text` is no base64url.

    Examples
    --------
    >>> ticket_bytes("-_A") == bytes([251, 240])
    True
    """
    if not set(text) <= _BASE64URL:
        raise ValueError(f"ticket must be base64url without padding, got {text[:100]!r}")
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_")


def candidate(link: Link) -> scoring_pb2.CandidateLink:
    """Turn a URL, or a URL with its ticket, into the message of a link to score.

    Examples
    --------
    >>> candidate(("http://a.org/", b"ticket")).ticket
    b'ticket'
    """
    if isinstance(link, scoring_pb2.CandidateLink):
        return link
    url, ticket = (link, b"") if isinstance(link, str) else link
    return scoring_pb2.CandidateLink(url=url, ticket=ticket)


def example_page(given: Example) -> crawl_pb2.ExamplePage:
    """Turn an example of the pages wanted into its message.

    Parameters
    ----------
    given
        ``URL`` of a page, which counts once it is fetched; ``URL=FILE``, which counts at once, as FILE has
        its HTML; ``FILE`` alone; (URL, body); or the message. A URL that ends in a name of a file after ``=``
        is written with one more ``=`` behind it.

    Raises
    ------
    ValueError
        It is neither a URL nor a file that can be read.

    Examples
    --------
    >>> example_page("http://a.org/view?t=5").url
    'http://a.org/view?t=5'
    >>> example_page("http://a.org/view=none.html")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: must be URL, URL=FILE or FILE, got 'http://a.org/view=none.html' (none.html: No such file...
    """
    if isinstance(given, crawl_pb2.ExamplePage):
        return given
    if isinstance(given, tuple):
        return crawl_pb2.ExamplePage(url=given[0], body=given[1])
    if not isinstance(given, str):
        raise ValueError("must be URL, URL=FILE or FILE")
    url, name = "", given
    if "://" in given:
        url, equals, name = given.rpartition("=")
        if equals and not name:
            return crawl_pb2.ExamplePage(url=url)
        if not equals or not (os.path.isfile(name) or name.endswith((".html", ".htm"))):
            return crawl_pb2.ExamplePage(url=given)
    try:
        with Path(name).open("rb") as file:
            body = file.read(MAX_EXAMPLE_BYTES + 1)
    except OSError as e:
        raise ValueError(f"must be URL, URL=FILE or FILE, got {given!r} ({name}: {e.strerror})") from None
    if not 0 < len(body) <= MAX_EXAMPLE_BYTES:
        raise ValueError(f"must be URL, URL=FILE or FILE, got {given!r} ({name} is empty or above 10 MB)")
    return crawl_pb2.ExamplePage(url=url, body=body)


def policy_spec(policy: Policy | None) -> policy_pb2.PolicySpec | None:
    """Turn a policy given by name, or by name and parameters, into its message.

    A name the contract does not know is taken for a policy from outside the distribution.

    Raises
    ------
    ValueError
        A parameter is unknown or of the wrong type.

    Examples
    --------
    >>> policy_spec(("harvest", {"curiosity": 0.5})).harvest.curiosity
    0.5
    >>> policy_spec("my_own").external.name
    'my_own'
    """
    if policy is None or isinstance(policy, policy_pb2.PolicySpec):
        return policy
    given = (policy, {}) if isinstance(policy, str) else policy
    if not isinstance(given, tuple | list) or [*map(type, given)] != [str, dict] or ":" in given[0]:
        raise ValueError("policy: must be a name, or (name, {parameter: value})")
    name, params = given
    spec = policy_pb2.PolicySpec()
    if name == "external" or name not in spec.DESCRIPTOR.fields_by_name:
        spec.external.name = name
        spec.external.params.update(dict(params))
        return spec
    chosen = getattr(spec, name)
    chosen.MergeFrom(filled(type(chosen), params, f"policy {name}"))
    chosen.SetInParent()
    return spec


def rule_format(wanted: int | str) -> int:
    """Turn the name of a crawler, for example `scrapy`, into its `RuleFormat`; numbers pass unchanged.

    Raises
    ------
    ValueError
        There is no format of this name.

    Examples
    --------
    >>> rule_format("nutch")
    3
    """
    if isinstance(wanted, int):
        return wanted
    known = {name.removeprefix("RULE_FORMAT_").lower(): n for name, n in RuleFormat.items() if n}
    if wanted not in known:
        raise ValueError(f"format {wanted!r}: known are {', '.join(known)}")
    return known[wanted]


def crawl_name(crawl: str) -> str:
    """Give the resource name of a crawl; full names pass unchanged, and that of all, which is empty."""
    return crawl if not crawl or crawl.startswith("crawls/") else f"crawls/{crawl}"


def site_name(crawl: str, site: str) -> str:
    """Give the resource name of a site of a crawl; full site names pass unchanged.

    >>> site_name("news", "example.org:8080")
    'crawls/news/sites/example.org%3A8080'
    """
    if site.startswith("crawls/"):
        return site
    return f"{crawl_name(crawl)}/sites/{quote(site, safe='')}"


def _several(given: Any) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError("must be a list")
    return list(given)


_SPECS: dict[str, Any] = {
    "policy": policy_spec,
    "wanted": wanted_spec,
    "budget": lambda given: message_of(crawl_pb2.Budget, given),
    "copies": lambda given: message_of(crawl_pb2.Copies, given),
    "revisit": lambda given: message_of(crawl_pb2.Revisit, given),
    "respect": _several,
    "examples": lambda given: [example_page(each) for each in _several(given)],
}


def option_problem(name: str, given: Any) -> str:
    """Say why an option of a crawl cannot be what is given; empty if it can, as far as the client knows."""
    try:
        filled(crawl_pb2.Crawl, {name: _spec(name, given)}, name)
    except (TypeError, ValueError) as error:
        said = str(error).removeprefix(f"{name}: ") if type(error) is ValueError else "is of the wrong kind"
        return said if ", got " in said else f"{said}, got {given!r}"
    return ""


def _spec(name: str, given: Any) -> Any:
    return _SPECS[name](given) if name in _SPECS and given is not None else given


def crawl_spec(crawl: str, config: Mapping[str, Any]) -> crawl_pb2.Crawl:
    """Give the message of a crawl with these options; what is None is left out."""
    given = {name: _spec(name, value) for name, value in config.items() if value is not None}
    return crawl_pb2.Crawl(name=crawl_name(crawl), **given)


def update_request(crawl: str, given: Mapping[str, Any]) -> crawl_pb2.UpdateCrawlRequest:
    """Ask for these fields of a crawl; an empty `wanted` or `budget` takes away the one it has."""
    fields = {name: value for name, value in given.items() if value is not None}
    emptied = {
        name: value or None if name in ("wanted", "budget") else value for name, value in fields.items()
    }
    return crawl_pb2.UpdateCrawlRequest(
        crawl=crawl_spec(crawl, emptied), update_mask=field_mask_pb2.FieldMask(paths=list(fields))
    )


# Columns of `LinkScores` with an entry for each link, if they are there.
_COLUMNS = (
    *("urls", "buckets", "tickets", "verdicts", "in_scope"),
    *("skip_reasons", "url_types"),
)


def problem_of(request: Any, answer: Any) -> str:
    """Say why an answer cannot be read, empty if it can: columns that do not fit, numbers that are none."""
    return next((problem for is_there, problem in _looked_at(request, answer) if is_there), "")


def _looked_at(request: Any, answer: Any) -> Iterator[tuple[bool, str]]:
    """Give each problem that an answer may have, and whether it has it."""
    if answer is None:
        yield True, "it is no message of this contract"  # as gRPC gives what it cannot decode
    elif isinstance(answer, scoring_pb2.IngestPagesResponse):
        yield (
            len(answer.results) != len(request.pages),
            "it has another number of results than pages were sent",
        )
        for result in answer.results:
            yield from _columns_looked_at(result.links)
    elif isinstance(answer, scoring_pb2.ScoreLinksResponse):
        is_other = not request.explain and len(answer.links.scores) != len(request.links)
        yield is_other, "it has another number of scores than links were sent"
        yield from _columns_looked_at(answer.links)
    elif isinstance(answer, scoring_pb2.RankBucketsResponse):
        order, n = answer.order, len(answer.order)
        is_odd = any(at >= len(request.buckets) for at in order) or len(set(order)) < n
        yield is_odd, "order names a bucket that was not asked about, or one twice"
        is_short = len(answer.values) != n or len(answer.urls) not in (0, n)
        yield is_short, "column values or urls has another length than order"
        yield not all(map(math.isfinite, answer.values)), "column values has a number that is not finite"
    elif isinstance(answer, scoring_pb2.ReportFeedbackResponse):
        yield len(answer.statuses) != len(request.feedback), "it has another number of statuses"


def _columns_looked_at(links: common_pb2.LinkScores) -> Iterator[tuple[bool, str]]:
    for name in _COLUMNS:
        is_other = len(getattr(links, name)) not in (0, len(links.scores))
        yield is_other, f"column {name} has another length than scores"
    is_other = len(links.bucket_values) != len(links.bucket_names)
    yield is_other, "column bucket_values has another length than bucket_names"
    for name, values in (("buckets", links.bucket_names), ("tickets", links.ticket_values)):
        is_beyond = any(not 0 <= at < len(values) for at in getattr(links, name))
        yield is_beyond, f"column {name} points beyond what is there"
    yield any(len(each) > 64 for each in links.ticket_values), "a ticket has more than 64 bytes"
    for name in ("scores", "bucket_values"):
        yield not all(map(math.isfinite, getattr(links, name))), f"column {name} has a number that is none"
