"""URLs put into a frontier and got from it: ``python -m benchmarks.frontier [--urls 1000000]``.

A frontier of its own is started, whose linkscore is away; any URLFrontier can be measured with ``--target
HOST:PORT``, its memory with ``--pid``. URLs of 1,000 queues come one a message on one stream (PutURLs), then
as many again in batches of 100 (PutDiscovered, if the frontier has it); then all are got, 100 queues and 10
URLs of each a call. Everything is on loopback; the caller, in Python, shares the processors.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc

from linkscore_frontier import urlfrontier_pb2 as pb
from linkscore_frontier import urlfrontier_pb2_grpc

QUEUES = 1_000
BATCH = 100
# What a call asks for: of so many queues, so many URLs.
GET_QUEUES, GET_EACH = 100, 10
LEASE_S = 3_600


def main() -> None:
    """Measure and print one line a phase."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--target", default="")
    parser.add_argument("--pid", type=int, default=0)
    args = parser.parse_args()
    if args.target:
        measure(args.target, args.pid, args.urls)
        return
    with own_frontier() as (target, pid):
        measure(target, pid, args.urls)


@contextmanager
def own_frontier() -> Iterator[tuple[str, int]]:
    """Run `linkscore frontier` in a folder of its own; give its address and process."""
    command = [sys.executable, "-m", "linkscore_cli", "frontier", "--listen", "127.0.0.1:0"]
    with tempfile.TemporaryDirectory() as folder:
        command += ["--metrics-listen", "", "--data-dir", folder, "--target", "127.0.0.1:1"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdout is not None
        try:
            yield process.stdout.readline().decode().split()[-1], process.pid
            size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
            print(f"files: {size / 1e6:.0f} MB")
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()


def measure(target: str, pid: int, urls: int) -> None:
    """Put and get `urls` URLs twice over, and say how long it took."""
    with grpc.insecure_channel(target) as channel:
        stub = urlfrontier_pb2_grpc.URLFrontierStub(channel)
        stub.SetDelay(pb.QueueDelayParams(delay_requestable=0))
        report("put, one a message", urls, put_one_by_one(stub, urls), pid)
        try:
            report(f"put, batches of {BATCH}", urls, put_in_batches(stub, urls), pid)
            total = 2 * urls
        except grpc.RpcError as error:
            print(f"put, batches of {BATCH}: {error.code().name}")
            total = urls
        got, seconds = get_all(stub, total)
        report("got", got, seconds, pid)
        if got != total:
            raise SystemExit(f"{total - got} URLs were not given")


def report(phase: str, urls: int, seconds: float, pid: int) -> None:
    """Print the rate of a phase."""
    of_process = ""
    if pid:
        status = Path(f"/proc/{pid}/status").read_text()
        memory = int(status.partition("VmRSS:")[2].split()[0]) / 1024
        times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        cpu_s = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
        of_process = f"; RSS {memory:.0f} MB, CPU so far {cpu_s:.0f} s"
    print(f"{phase}: {urls:,} in {seconds:.1f} s, {urls / seconds:,.0f}/s{of_process}", flush=True)


def info(n: int, folder: str) -> pb.URLInfo:
    """Return one of many URLs, as long as usual ones, with metadata as a crawler keeps them."""
    host = f"host{n % QUEUES}.example"
    metadata = {"url.path": pb.StringList(values=[f"http://{host}/"]), "depth": pb.StringList(values=["1"])}
    return pb.URLInfo(url=f"http://{host}/{folder}/some-article-title-{n}.html", key=host, metadata=metadata)


def put_one_by_one(stub: urlfrontier_pb2_grpc.URLFrontierStub, urls: int) -> float:
    """Put URLs on one stream; return the seconds until the last acknowledgement."""
    started = time.perf_counter()
    items = (pb.URLItem(discovered=pb.DiscoveredURLItem(info=info(n, "one"))) for n in range(urls))
    acked = sum(ack.status == pb.AckMessage.OK for ack in stub.PutURLs(items))
    assert acked == urls, acked
    return time.perf_counter() - started


def put_in_batches(stub: urlfrontier_pb2_grpc.URLFrontierStub, urls: int) -> float:
    """Put URLs in batches; return the seconds until the last acknowledgement."""
    started = time.perf_counter()
    batches = (
        pb.DiscoveredBatch(ID=str(n), items=[info(i, "batch") for i in range(n, min(urls, n + BATCH))])
        for n in range(0, urls, BATCH)
    )
    acked = sum(list(ack.statuses).count(pb.AckMessage.OK) for ack in stub.PutDiscovered(batches))
    assert acked == urls, acked
    return time.perf_counter() - started


def get_all(stub: urlfrontier_pb2_grpc.URLFrontierStub, total: int) -> tuple[int, float]:
    """Get all URLs, and give each back as done; return how many came and the seconds of the getting alone."""
    got, seconds, idle = 0, 0.0, 0
    wanted = pb.GetParams(
        max_queues=GET_QUEUES, max_urls_per_queue=GET_EACH, delay_requestable=LEASE_S, crawlID="DEFAULT"
    )
    while got < total and idle < 100:
        started = time.perf_counter()
        found = list(stub.GetURLs(wanted))
        seconds += time.perf_counter() - started
        got += len(found)
        idle = 0 if found else idle + 1
        # A queue gives no more while so many of its URLs are under way.
        items = (pb.URLItem(known=pb.KnownURLItem(info=one)) for one in found)
        assert all(ack.status == pb.AckMessage.OK for ack in stub.PutURLs(items))
        if not found:
            time.sleep(0.05)
    return got, seconds


if __name__ == "__main__":
    main()
