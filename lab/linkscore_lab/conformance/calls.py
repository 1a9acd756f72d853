"""Scenarios of what goes over the connection: errors, and how pages, links, tickets, feedback are put."""

from __future__ import annotations

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2 as details

from linkscore import ticket_text
from linkscore.v1 import common_pb2, crawl_service_pb2, policy_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2
from linkscore_lab.conformance.fake import Fail
from linkscore_lab.conformance.trial import PAGE, Trial, holds, same, scenario

Code = grpc.StatusCode


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
    error = trial.fails("stream", Code.NOT_FOUND, pages=[{"url": PAGE, "body": "x"}])
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
    first = {"url": "http://a.test/old", "final_url": PAGE, "status": 203, "body": "<p>ü", "ticket": "AP_-"}
    trial.call("ingest", pages=[first, {"url": "http://a.test/2", "body": "x"}])
    one, two = server.seen("IngestPages")[0].request.pages
    same("first page", (one.url, one.final_url, one.status_code), ("http://a.test/old", PAGE, 203))
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
    ((one, two, three),) = trial.call("ingest", pages=[{"url": PAGE, "body": "x"}])["links"]
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
    told, (only,), none = trial.call("ingest", pages=[{"url": PAGE, "body": "x"}] * 3)["links"]
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
    trial.call("failed", url=PAGE, status=404, ticket=ticket_text(b"t1"))
    trial.call("failed", url=PAGE, error="timeout")
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
    trial.call("reward", url=PAGE, ticket=ticket_text(b"t1"), worth=0.5)
    event = server.seen("ReportFeedback")[0].request.feedback[0]
    same("reward", (event.url, event.ticket, event.reward), (PAGE, b"t1", 0.5))
    holds(bool(event.event_id), "a reward without an event id counts twice when it is repeated")
    wrong = common_pb2.FieldProblem(field="reward", description="must be in [0, 1]")
    invalid = common_pb2.ItemStatus(code=common_pb2.ITEM_CODE_INVALID, problems=[wrong])
    server.script("ReportFeedback", scoring_pb2.ReportFeedbackResponse(statuses=[invalid]))
    error = trial.fails("reward", Code.INVALID_ARGUMENT, url=PAGE, worth=2)
    same("fields", [violation["field"] for violation in error.violations], ["reward"])


@scenario
def notices(trial: Trial) -> None:
    """Pages said to have changed go out in order, with a time if one is said; each answer is of its URL."""
    server = trial.connected()
    urls = ["http://a.test/2", "no url", "http://a.test/1", "http://a.test/2"]
    outcomes = [
        scoring_pb2.NOTICE_OUTCOME_NOTED,
        scoring_pb2.NOTICE_OUTCOME_INVALID,
        scoring_pb2.NOTICE_OUTCOME_UNKNOWN,
        scoring_pb2.NOTICE_OUTCOME_REPEATED,
    ]
    told = [scoring_pb2.NoticeStatus(outcome=outcome) for outcome in outcomes]
    server.script("NotifyChanged", scoring_pb2.NotifyChangedResponse(statuses=told))
    same("outcomes", trial.call("notify", urls=urls)["outcomes"], outcomes)
    same("outcome of one", trial.call("notify", urls=[PAGE], changed_ms=1_700_000_000_250)["outcomes"], [1])
    now, then = (call.request for call in server.seen("NotifyChanged"))
    same("crawl and URLs", (now.crawl, list(now.urls)), ("crawls/x", urls))
    holds(not now.HasField("change_time"), "a time nobody said")
    same("time in ms", then.change_time.ToMilliseconds(), 1_700_000_000_250)
    server.script("NotifyChanged", Fail(Code.UNAVAILABLE))
    same("outcome of a second attempt", trial.call("notify", urls=[PAGE])["outcomes"], [1])
    server.script("NotifyChanged", Fail(Code.INVALID_ARGUMENT))
    trial.fails("notify", Code.INVALID_ARGUMENT, urls=[PAGE])


@scenario
def explanation(trial: Trial) -> None:
    """An explanation is of the link asked about; a link that is refused is an error naming the field."""
    server = trial.connected()
    same("score", trial.call("explain", url=PAGE, ticket=ticket_text(b"t1"))["score"], 0.5)
    link = server.seen("ScoreLinks")[0].request.links[0]
    same("link", (link.url, link.ticket), (PAGE, b"t1"))
    wrong = common_pb2.FieldProblem(field="url", description="must be absolute")
    invalid = common_pb2.ItemStatus(code=common_pb2.ITEM_CODE_INVALID, problems=[wrong])
    told = scoring_pb2.LinkExplanation(status=invalid)
    server.script("ScoreLinks", scoring_pb2.ScoreLinksResponse(explanations=[told]))
    error = trial.fails("explain", Code.INVALID_ARGUMENT, url="/relative")
    same("fields", [violation["field"] for violation in error.violations], ["url"])
