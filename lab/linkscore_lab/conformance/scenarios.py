"""The scenarios, in the order they are played: functions of a `Trial` whose docstrings say what must hold."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2 as details

from linkscore import ticket_text
from linkscore.v1 import common_pb2, crawl_service_pb2, policy_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2
from linkscore_lab.conformance.certificates import make_certificates
from linkscore_lab.conformance.driver import CallFailed, Driver
from linkscore_lab.conformance.fake import Fail, FakeServer, Hang, Seen, Tls
from linkscore_lab.conformance.relay import Relay

Code = grpc.StatusCode
_PAGE = "http://a.test/"
_SECRET = "xyz"  # noqa: S105 - of a server that lives for one scenario
# Just under the 64 MiB of docs/clients.md, which the rest of the message must fit in as well.
_BIG_BYTES = 60 * 1024 * 1024
# Time on the wire of a call that is answered at once, on a machine that has other work.
_SLACK_S = 2.0


class Unmet(Exception):
    """A client did not do what a scenario asks."""


class Trial:
    """What a scenario works with: a driver, and servers that end with the scenario.

    Attributes
    ----------
    folder
        For files, empty at first.
    """

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._cleanup = contextlib.ExitStack()
        self.folder = Path(self._cleanup.enter_context(tempfile.TemporaryDirectory()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._cleanup.close()

    def serve(self, **options: Any) -> FakeServer:
        """Start a server."""
        return self._cleanup.enter_context(FakeServer(**options))

    def connected(self, **options: Any) -> FakeServer:
        """Start a server in plain text and connect the client to it."""
        server = self.serve()
        self.call("connect", target=server.target, **options)
        return server

    def relay(self, server: FakeServer) -> Relay:
        """Put a relay before a server."""
        return self._cleanup.enter_context(Relay(server.port))

    def call(self, call: str, **arguments: Any) -> dict[str, Any]:
        """Have the client make a call that must be answered."""
        if call not in ("connect", "close"):
            arguments.setdefault("crawl", "x")
        try:
            return self.driver.call(call, **arguments)
        except CallFailed as exc:
            raise Unmet(f"{call} failed: {exc}") from exc

    def rank(self, **arguments: Any) -> dict[str, float]:
        """Ask for the values of two buckets."""
        values: dict[str, float] = self.call("rank", buckets=["bad", "good"], **arguments)["values"]
        return values

    def fails(self, call: str, *codes: grpc.StatusCode, **arguments: Any) -> CallFailed:
        """Have the client make a call that must fail with one of these codes."""
        arguments.setdefault("crawl", "x")
        try:
            answer = self.driver.call(call, **arguments)
        except CallFailed as exc:
            wanted = [code.value[0] for code in codes]
            if exc.code not in wanted:
                raise Unmet(f"{call} failed with code {exc.code}, not {wanted}") from exc
            return exc
        raise Unmet(f"{call} was answered ({answer}), it had to fail with {[c.name for c in codes]}")

    def rank_fails(self, *codes: grpc.StatusCode, **arguments: Any) -> CallFailed:
        """Ask for the values of buckets, which must fail."""
        return self.fails("rank", *codes, buckets=["bad", "good"], **arguments)


Scenario = Callable[[Trial], None]
SCENARIOS: dict[str, Scenario] = {}


def scenario(play: Scenario) -> Scenario:
    """Add a scenario to the list, under the name of its function."""
    SCENARIOS[play.__name__] = play
    return play


def same(what: str, got: Any, wanted: Any) -> None:
    """Check that two values are equal."""
    if got != wanted:
        raise Unmet(f"{what}: {got!r}, expected {wanted!r}")


def holds(condition: bool, complaint: str) -> None:
    """Check a condition."""
    if not condition:
        raise Unmet(complaint)


def _deadline(call: Seen, at_most_s: float) -> None:
    left = call.deadline_s
    holds(left is not None and left < 1e6, f"{call.method} came without a deadline")
    holds(at_most_s - _SLACK_S < (left or 0.0) <= at_most_s + 0.1, f"{left:.1f} s left, not {at_most_s:.0f}")


# Connection: deadlines, sizes, retries.


@scenario
def deadline_by_default(trial: Trial) -> None:
    """A call has 10 seconds unless somebody says otherwise."""
    server = trial.connected()
    trial.rank()
    _deadline(server.seen("RankBuckets")[0], 10)


@scenario
def deadline_of_each_call(trial: Trial) -> None:
    """The deadline of a client is that of every call, not of the first one."""
    server = trial.connected(timeout_ms=5_000)
    trial.rank()
    time.sleep(_SLACK_S + 0.5)  # a deadline set once would have run down by more than the slack
    trial.rank()
    for call in server.seen("RankBuckets"):
        _deadline(call, 5)


@scenario
def deadline_of_one_call(trial: Trial) -> None:
    """A call's own deadline wins over the client's."""
    server = trial.connected(timeout_ms=3_000)
    trial.rank(timeout_ms=60_000)
    _deadline(server.seen("RankBuckets")[0], 60)


@scenario
def deadline_ends_a_call(trial: Trial) -> None:
    """A server that does not answer costs the deadline once, and the call is not repeated."""
    server = trial.connected()
    server.script("RankBuckets", Hang(), Hang())
    began = time.monotonic()
    trial.rank_fails(Code.DEADLINE_EXCEEDED, timeout_ms=500)
    holds(time.monotonic() - began < 0.5 + _SLACK_S, "the call took longer than its deadline")
    same("calls", len(server.seen("RankBuckets")), 1)


@scenario
def large_request(trial: Trial) -> None:
    """Messages of 60 MiB go out."""
    server = trial.connected(timeout_ms=60_000)
    trial.call("ingest", pages=[{"url": _PAGE, "body_bytes": _BIG_BYTES}])
    same("bytes of the body", len(server.seen("IngestPages")[0].request.pages[0].body), _BIG_BYTES)


@scenario
def large_answer(trial: Trial) -> None:
    """Messages of 60 MiB come in."""
    server = trial.connected(timeout_ms=60_000)
    links = common_pb2.LinkScores(urls=["http://a.test/1"], scores=[0.5], ticket_values=[bytes(_BIG_BYTES)])
    server.script(
        "IngestPages", scoring_pb2.IngestPagesResponse(results=[scoring_pb2.PageResult(links=links)])
    )
    answer = trial.call("ingest", pages=[{"url": _PAGE, "body": "x"}])
    same("links", len(answer["links"][0]), 1)


@scenario
def unavailable_is_tried_again(trial: Trial) -> None:
    """After UNAVAILABLE a call is repeated as it was, with the event id it had."""
    server = trial.connected()
    server.script("IngestPages", Fail(Code.UNAVAILABLE), Fail(Code.UNAVAILABLE))
    trial.call("ingest", pages=[{"url": _PAGE, "body": "x"}])
    server.script("ReportFeedback", Fail(Code.UNAVAILABLE))
    trial.call("reward", url=_PAGE, worth=1)
    pages = server.seen("IngestPages")
    same("attempts", len(pages), 3)
    same("event ids of one page", len({call.request.pages[0].event_id for call in pages}), 1)
    rewards = server.seen("ReportFeedback")
    same("attempts", len(rewards), 2)
    same("event ids of one reward", len({call.request.feedback[0].event_id for call in rewards}), 1)


@scenario
def four_attempts_are_all(trial: Trial) -> None:
    """A server that stays UNAVAILABLE is an error after four attempts."""
    server = trial.connected()
    server.script("RankBuckets", *[Fail(Code.UNAVAILABLE)] * 9)
    trial.rank_fails(Code.UNAVAILABLE)
    same("attempts", len(server.seen("RankBuckets")), 4)


@scenario
def nothing_else_is_tried_again(trial: Trial) -> None:
    """Every other failure is the caller's at once, with its code."""
    for code in (
        Code.UNKNOWN,
        Code.DEADLINE_EXCEEDED,
        Code.NOT_FOUND,
        Code.PERMISSION_DENIED,
        Code.RESOURCE_EXHAUSTED,
        Code.FAILED_PRECONDITION,
        Code.ABORTED,
        Code.INTERNAL,
        Code.UNAUTHENTICATED,
    ):
        server = trial.connected()
        server.script("RankBuckets", Fail(code), Fail(code))
        trial.rank_fails(code)
        same(f"attempts after {code.name}", len(server.seen("RankBuckets")), 1)


@scenario
def cancelled_calls_end(trial: Trial) -> None:
    """A call that is given up ends as CANCELLED at once, and the server learns it."""
    server = trial.connected(timeout_ms=30_000)
    server.script("RankBuckets", Hang())
    began = time.monotonic()
    trial.rank_fails(Code.CANCELLED, cancel_after_ms=300)
    holds(time.monotonic() - began < 0.3 + _SLACK_S, "giving up took long")
    holds(server.seen("RankBuckets")[0].ended.wait(_SLACK_S), "the server was not told")


@scenario
def user_agent(trial: Trial) -> None:
    """A client names itself, so that the server's operator can tell who calls."""
    server = trial.connected()
    trial.rank()
    agent = server.seen("RankBuckets")[0].metadata["user-agent"]
    holds(agent.startswith("linkscore-"), f"user agent {agent!r} does not begin with linkscore-")


# Connection: lost and back.


@scenario
def no_server(trial: Trial) -> None:
    """No server is UNAVAILABLE, well before the deadline."""
    lost = trial.connected(timeout_ms=30_000)
    lost.stop()
    began = time.monotonic()
    trial.rank_fails(Code.UNAVAILABLE)
    holds(time.monotonic() - began < 15, "it took over half of the deadline to see that there is no server")


@scenario
def server_lost_and_back(trial: Trial) -> None:
    """A client that lost its server finds the one that comes back, without being made anew."""
    first = trial.connected(timeout_ms=2_000)
    trial.rank()
    first.stop()
    trial.rank_fails(Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED)
    back = trial.serve(port=first.port)
    until = time.monotonic() + 20  # gRPC waits up to some seconds more after each attempt to connect
    while not back.seen("RankBuckets"):
        holds(time.monotonic() < until, "20 s after it came back no call had reached the server")
        with contextlib.suppress(CallFailed):
            trial.driver.call("rank", crawl="x", buckets=["bad", "good"])


@scenario
def silent_connection(trial: Trial) -> None:
    """A connection that fell silent is given up after 10 + 5 seconds, and the call is made on another one."""
    server = trial.serve()
    relay = trial.relay(server)
    trial.call("connect", target=relay.target, timeout_ms=40_000)
    trial.rank()
    relay.silence()
    began = time.monotonic()
    same("values", trial.rank(), {"bad": 0.1, "good": 0.9})
    took = time.monotonic() - began
    holds(took < 25, f"it took {took:.0f} s to notice that the connection was dead")


# Connection: tokens and TLS.


@scenario
def token(trial: Trial) -> None:
    """The token goes with every call, streams included."""
    server = trial.connected(token=_SECRET)
    trial.rank()
    trial.call("stream", pages=[{"url": _PAGE, "body": "x"}])
    same("authorization", [c.metadata.get("authorization") for c in server.calls], [f"Bearer {_SECRET}"] * 2)


@scenario
def no_token(trial: Trial) -> None:
    """Without a token nothing is sent in its place."""
    server = trial.connected()
    trial.rank()
    same("authorization", server.calls[0].metadata.get("authorization"), None)


@scenario
def token_file_is_read_anew(trial: Trial) -> None:
    """A token that is rotated in its file is the next call's; white space around it is not part of it."""
    file = trial.folder / "token"
    file.write_text("first\n")
    server = trial.connected(token_file=str(file))
    trial.rank()
    file.write_text("  second\n")
    trial.rank()
    trial.call("stream", pages=[{"url": _PAGE, "body": "x"}])
    tokens = [call.metadata.get("authorization") for call in server.calls]
    same("authorization", tokens, ["Bearer first", "Bearer second", "Bearer second"])


@scenario
def tls_of_a_known_authority(trial: Trial) -> None:
    """A server with a certificate of the authority given is talked to, token included."""
    made = make_certificates(trial.folder)
    server = trial.serve(tls=Tls(made / "server.key", made / "server.pem"))
    trial.call("connect", target=server.target, ca=str(made / "ca.pem"), token=_SECRET)
    same("values", trial.rank(), {"bad": 0.1, "good": 0.9})
    same("authorization", server.calls[0].metadata.get("authorization"), f"Bearer {_SECRET}")


@scenario
def tls_of_a_stranger(trial: Trial) -> None:
    """A server whose authority is not known gets no call and no token."""
    made, other = make_certificates(trial.folder), trial.folder / "other"
    other.mkdir()
    make_certificates(other)
    server = trial.serve(tls=Tls(made / "server.key", made / "server.pem"))
    trial.call("connect", target=server.target, ca=str(other / "ca.pem"), token=_SECRET, timeout_ms=3_000)
    trial.rank_fails(Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED)
    same("calls", len(server.calls), 0)


@scenario
def tls_of_both(trial: Trial) -> None:
    """A server that wants a certificate of the client gets it."""
    made = make_certificates(trial.folder)
    server = trial.serve(tls=Tls(made / "server.key", made / "server.pem", made / "ca.pem"))
    ca, cert, key = (str(made / name) for name in ("ca.pem", "client.pem", "client.key"))
    trial.call("connect", target=server.target, ca=ca, timeout_ms=3_000)
    trial.rank_fails(Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED)
    trial.call("connect", target=server.target, ca=ca, cert=cert, key=key)
    same("values", trial.rank(), {"bad": 0.1, "good": 0.9})


# Errors.


@scenario
def error_details(trial: Trial) -> None:
    """Reason, facts, wait and fields of a refusal are decoded."""
    server = trial.connected()
    violation = details.BadRequest.FieldViolation(field="pages[3].url", description="must be absolute")
    refusal = (
        details.ErrorInfo(reason="OVERLOADED", domain="linkscore", metadata={"limit": "4"}),
        details.RetryInfo(retry_delay=Duration(seconds=2, nanos=500_000_000)),
        details.BadRequest(field_violations=[violation]),
    )
    server.script("RankBuckets", Fail(Code.RESOURCE_EXHAUSTED, "too much", refusal))
    error = trial.rank_fails(Code.RESOURCE_EXHAUSTED)
    same("reason", error.reason, "OVERLOADED")
    same("metadata", error.metadata, {"limit": "4"})
    same("wait in ms", error.retry_after_ms, 2_500)
    told = [(v["field"], v["description"]) for v in error.violations]
    same("violations", told, [("pages[3].url", "must be absolute")])


@scenario
def error_without_details(trial: Trial) -> None:
    """A refusal without details is an error of the same kind with empty parts, as with foreign ones."""
    server = trial.connected()
    server.script("RankBuckets", Fail(Code.NOT_FOUND), Fail(Code.NOT_FOUND, raw_details=b"\xff not a status"))
    for _ in range(2):
        error = trial.rank_fails(Code.NOT_FOUND)
        parts = (error.reason, error.retry_after_ms, error.violations, error.metadata)
        same("parts", parts, ("", 0, [], {}))


@scenario
def error_in_a_stream(trial: Trial) -> None:
    """A stream that fails half way raises the same kind of error, details included."""
    server = trial.connected()
    info = details.ErrorInfo(reason="CRAWL_NOT_FOUND", domain="linkscore")
    server.script("StreamPages", Fail(Code.NOT_FOUND, "no crawl", [info]))
    error = trial.fails("stream", Code.NOT_FOUND, pages=[{"url": _PAGE, "body": "x"}])
    same("reason", error.reason, "CRAWL_NOT_FOUND")


# Calls.


@scenario
def crawl_is_made(trial: Trial) -> None:
    """Ensuring a crawl creates it by its resource name, with the policy asked for and no other."""
    server = trial.connected()
    trial.call("ensure", crawl="a_b-1", policy="harvest")
    crawl = server.seen("CreateCrawl")[0].request.crawl
    same("name", crawl.name, "crawls/a_b-1")
    same("policy", crawl.policy.WhichOneof("policy"), "harvest")
    trial.call("ensure", crawl="plain")
    holds(not server.seen("CreateCrawl")[1].request.crawl.HasField("policy"), "a policy nobody asked for")
    trial.call("rank", crawl="a_b-1", buckets=["good"])
    same("crawl ranked", server.seen("RankBuckets")[0].request.crawl, "crawls/a_b-1")


@scenario
def crawl_that_is_there_is_taken(trial: Trial) -> None:
    """A crawl that exists is taken as it is; only another policy is changed, and nothing beside it."""
    server = trial.connected()
    there = crawl_service_pb2.Crawl(name="crawls/x", policy=policy_pb2.PolicySpec(harvest={}), seed=7)
    for policy, updates in ((None, 0), ("harvest", 0), ("breadth_first", 1)):
        server.script("CreateCrawl", Fail(Code.ALREADY_EXISTS))
        server.script("GetCrawl", crawl_service_pb2.GetCrawlResponse(crawl=there))
        trial.call("ensure", **({"policy": policy} if policy else {}))
        same(f"updates after policy {policy}", len(server.seen("UpdateCrawl")), updates)
    request = server.seen("UpdateCrawl")[0].request
    same("changed", list(request.update_mask.paths), ["policy"])
    same("policy", request.crawl.policy.WhichOneof("policy"), "breadth_first")


@scenario
def crawl_that_is_refused(trial: Trial) -> None:
    """Any other failure of creating a crawl is the caller's."""
    server = trial.connected()
    server.script("CreateCrawl", Fail(Code.INVALID_ARGUMENT))
    trial.fails("ensure", Code.INVALID_ARGUMENT)
    same("calls", [call.method for call in server.calls], ["CreateCrawl"])


@scenario
def pages_are_sent_whole(trial: Trial) -> None:
    """A page keeps its URLs, status, body and ticket; status 200 is assumed with a body; event ids differ."""
    server = trial.connected()
    first = {"url": "http://a.test/old", "final_url": _PAGE, "status": 203, "body": "<p>ü", "ticket": "AP_-"}
    trial.call("ingest", pages=[first, {"url": "http://a.test/2", "body": "x"}])
    one, two = server.seen("IngestPages")[0].request.pages
    same("first page", (one.url, one.final_url, one.status_code), ("http://a.test/old", _PAGE, 203))
    same("body", one.body, "<p>ü".encode())
    same("ticket", one.ticket, b"\x00\xff\xfe")
    same(
        "second page",
        (two.url, two.final_url, two.status_code, two.ticket),
        ("http://a.test/2", "", 200, b""),
    )
    ids = {one.event_id, two.event_id}
    holds(len(ids) == 2 and all(0 < len(i) <= 128 for i in ids), f"event ids {ids}")


def _every_column() -> common_pb2.LinkScores:
    """Three links of which the second cannot be used, and the third leaves the crawl."""
    relative = common_pb2.FieldProblem(field="url", description="must be absolute", reason="RELATIVE_URL")
    invalid = common_pb2.ItemStatus(code=common_pb2.ITEM_CODE_INVALID, problems=[relative])
    partial = common_pb2.ItemStatus(code=common_pb2.ITEM_CODE_PARTIAL, notes=["url_cut"])
    return common_pb2.LinkScores(
        urls=["http://a.test/1", "", "http://b.test/2"],
        scores=[0.2, 0.0, 0.9],
        buckets=[0, 0, 1],
        bucket_names=["low", "high"],
        bucket_values=[0.3, 0.8],
        tickets=[0, 0, 1],
        ticket_values=[b"\x00\xff\xfe", b"t1"],
        in_scope=[True, True, False],
        statuses={1: invalid, 2: partial},
    )


@scenario
def links_by_row(trial: Trial) -> None:
    """The columns of an answer are read as one link a row, unusable ones included, so that indices hold."""
    server = trial.connected()
    result = scoring_pb2.PageResult(links=_every_column())
    server.script("IngestPages", scoring_pb2.IngestPagesResponse(results=[result]))
    ((one, two, three),) = trial.call("ingest", pages=[{"url": _PAGE, "body": "x"}])["links"]
    wanted = {
        "url": "http://a.test/1",
        "score": 0.2,
        "bucket": "low",
        "value": 0.3,
        "usable": True,
        "in_scope": True,
    }
    same("first link", one, wanted | {"ticket": ticket_text(b"\x00\xff\xfe")})
    same("second link is usable", two["usable"], False)
    wanted = {"url": "http://b.test/2", "score": 0.9, "bucket": "high", "value": 0.8, "usable": True}
    same("third link", three, wanted | {"ticket": ticket_text(b"t1"), "in_scope": False})


@scenario
def links_of_an_older_server(trial: Trial) -> None:
    """Without bucket values a bucket is worth its best link here; columns that are missing are no error."""
    server = trial.connected()
    links = common_pb2.LinkScores(
        urls=["http://a.test/1", "http://a.test/2"], scores=[0.2, 0.6], buckets=[0, 0], bucket_names=["all"]
    )
    bare = common_pb2.LinkScores(urls=["http://a.test/3"], scores=[0.5])
    results = [
        scoring_pb2.PageResult(links=links),
        scoring_pb2.PageResult(links=bare),
        scoring_pb2.PageResult(),
    ]
    server.script("IngestPages", scoring_pb2.IngestPagesResponse(results=results))
    told, (only,), none = trial.call("ingest", pages=[{"url": _PAGE, "body": "x"}] * 3)["links"]
    same("values", [link["value"] for link in told], [0.6, 0.6])
    same(
        "bare link", (only["bucket"], only["ticket"], only["in_scope"], only["usable"]), ("", "", True, True)
    )
    same("links of a page without any", none, [])


@scenario
def pages_in_a_stream(trial: Trial) -> None:
    """Streamed pages are answered in order; the crawl is named first, and no deadline cuts a long crawl."""
    server = trial.connected(timeout_ms=1_000)
    urls = [f"http://a.test/{n}" for n in range(20)]
    answer = trial.call("stream", pages=[{"url": u, "body": f'<a href="{u}/good">'} for u in urls])
    same(
        "links", [[link["url"] for link in links] for links in answer["links"]], [[f"{u}/good"] for u in urls]
    )
    call = server.seen("StreamPages")[0]
    same("crawl", call.messages[0].crawl, "crawls/x")
    same("later crawls", {message.crawl for message in call.messages[1:]} - {"", "crawls/x"}, set())
    same("different request ids", len({message.request_id for message in call.messages}), len(urls))
    holds(call.deadline_s is None or call.deadline_s > 3_600, f"the stream has {call.deadline_s} s")


@scenario
def failed_fetches(trial: Trial) -> None:
    """A fetch that brought no page is reported with its status, or why there was no answer."""
    server = trial.connected()
    trial.call("failed", url=_PAGE, status=404, ticket=ticket_text(b"t1"))
    trial.call("failed", url=_PAGE, error="timeout")
    pages = [call.request.pages[0] for call in server.seen("IngestPages")]
    same("status and reason", [(p.status_code, p.fetch_error) for p in pages], [(404, ""), (0, "timeout")])
    same("ticket", pages[0].ticket, b"t1")
    same("content", [page.WhichOneof("content") for page in pages], [None] * 2)
    same("event ids", len({page.event_id for page in pages} - {""}), 2)


@scenario
def buckets_by_name(trial: Trial) -> None:
    """Values of buckets are read by name, whatever order the server answers in."""
    server = trial.connected()
    answer = scoring_pb2.RankBucketsResponse(order=[2, 0, 1], values=[0.9, 0.5, 0.1])
    server.script("RankBuckets", answer)
    values = trial.call("rank", buckets=["a", "b", "c"])["values"]
    same("values", values, {"c": 0.9, "a": 0.5, "b": 0.1})
    same("asked", list(server.seen("RankBuckets")[0].request.buckets), ["a", "b", "c"])


@scenario
def links_scored_again(trial: Trial) -> None:
    """Links are scored in the order given, from URL and ticket, and keep their URLs."""
    server = trial.connected()
    asked = [{"url": "http://a.test/bad", "ticket": ticket_text(b"t0")}, {"url": "http://a.test/good"}]
    links = trial.call("score", links=asked)["links"]
    same(
        "links",
        [(k["url"], k["score"], k["bucket"]) for k in links],
        [
            ("http://a.test/bad", 0.1, "bad"),
            ("http://a.test/good", 0.9, "good"),
        ],
    )
    same("tickets", [link.ticket for link in server.seen("ScoreLinks")[0].request.links], [b"t0", b""])


@scenario
def feedback(trial: Trial) -> None:
    """A reward names page and ticket and has an event id; a refused one is an error naming the field."""
    server = trial.connected()
    trial.call("reward", url=_PAGE, ticket=ticket_text(b"t1"), worth=0.5)
    event = server.seen("ReportFeedback")[0].request.feedback[0]
    same("reward", (event.url, event.ticket, event.reward), (_PAGE, b"t1", 0.5))
    holds(bool(event.event_id), "a reward without an event id counts twice when it is repeated")
    wrong = common_pb2.FieldProblem(field="reward", description="must be in [0, 1]")
    invalid = common_pb2.ItemStatus(code=common_pb2.ITEM_CODE_INVALID, problems=[wrong])
    server.script("ReportFeedback", scoring_pb2.ReportFeedbackResponse(statuses=[invalid]))
    error = trial.fails("reward", Code.INVALID_ARGUMENT, url=_PAGE, worth=2)
    same("fields", [violation["field"] for violation in error.violations], ["reward"])


@scenario
def explanation(trial: Trial) -> None:
    """An explanation is of the link asked about; a link that is refused is an error naming the field."""
    server = trial.connected()
    same("score", trial.call("explain", url=_PAGE, ticket=ticket_text(b"t1"))["score"], 0.5)
    link = server.seen("ExplainLinks")[0].request.links[0]
    same("link", (link.url, link.ticket), (_PAGE, b"t1"))
    wrong = common_pb2.FieldProblem(field="url", description="must be absolute")
    invalid = common_pb2.ItemStatus(code=common_pb2.ITEM_CODE_INVALID, problems=[wrong])
    told = scoring_pb2.LinkExplanation(status=invalid)
    server.script("ExplainLinks", scoring_pb2.ExplainLinksResponse(explanations=[told]))
    error = trial.fails("explain", Code.INVALID_ARGUMENT, url="/relative")
    same("fields", [violation["field"] for violation in error.violations], ["url"])


def chosen(names: tuple[str, ...]) -> Iterator[tuple[str, Scenario]]:
    """Give the scenarios of these names, all without any.

    Raises
    ------
    KeyError
        There is no scenario of a name.
    """
    yield from ((name, SCENARIOS[name]) for name in names or SCENARIOS)
