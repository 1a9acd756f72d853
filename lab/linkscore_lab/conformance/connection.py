"""Scenarios of the connection: deadlines, sizes, retries, servers lost and back, tokens, TLS."""

from __future__ import annotations

import contextlib
import time

import grpc

from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2
from linkscore_lab.conformance.certificates import make_certificates
from linkscore_lab.conformance.driver import CallFailed
from linkscore_lab.conformance.fake import Hang, Seen, Tls
from linkscore_lab.conformance.trial import PAGE, Trial, holds, same, scenario

Code = grpc.StatusCode
_SECRET = "xyz"  # noqa: S105 - of a server that lives for one scenario
# Just under the 64 MiB of docs/reference/clients.md, which the rest of the message must fit in as well.
_BIG_BYTES = 60 * 1024 * 1024
# Time on the wire of a call that is answered at once, on a machine that has other work.
_SLACK_S = 2.0


def _deadline(call: Seen, at_most_s: float) -> None:
    left = call.deadline_s
    holds(left is not None and left < 1e6, f"{call.method} came without a deadline")
    holds(at_most_s - _SLACK_S < (left or 0.0) <= at_most_s + 0.1, f"{left:.1f} s left, not {at_most_s:.0f}")


# Deadlines, sizes, retries.


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
    trial.call("ingest", pages=[{"url": PAGE, "body_bytes": _BIG_BYTES}])
    same("bytes of the body", len(server.seen("IngestPages")[0].request.pages[0].body), _BIG_BYTES)


@scenario
def large_answer(trial: Trial) -> None:
    """Messages of 60 MiB come in."""
    server = trial.connected(timeout_ms=60_000)
    links = common_pb2.LinkScores(urls=["http://a.test/1"], scores=[0.5], ticket_values=[bytes(_BIG_BYTES)])
    server.script(
        "IngestPages", scoring_pb2.IngestPagesResponse(results=[scoring_pb2.PageResult(links=links)])
    )
    answer = trial.call("ingest", pages=[{"url": PAGE, "body": "x"}])
    same("links", len(answer["links"][0]), 1)


@scenario
def cancelled_calls_end(trial: Trial) -> None:
    """A call that is given up ends as CANCELLED at once, and the server learns it."""
    server = trial.connected(timeout_ms=30_000)
    server.script("RankBuckets", Hang())
    began = time.monotonic()
    trial.rank_fails(Code.CANCELLED, cancel_after_ms=300)
    holds(time.monotonic() - began < 0.3 + _SLACK_S, "giving up took long")
    holds(server.seen("RankBuckets")[0].ended.wait(_SLACK_S), "the server was not told")


# Lost and back.


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


# Tokens and TLS.


@scenario
def token_file_is_read_anew(trial: Trial) -> None:
    """A token that is rotated in its file is the next call's; white space around it is not part of it."""
    file = trial.folder / "token"
    file.write_text("first\n")
    server = trial.connected(token_file=str(file))
    trial.rank()
    file.write_text("  second\n")
    trial.rank()
    trial.call("stream", pages=[{"url": PAGE, "body": "x"}])
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
