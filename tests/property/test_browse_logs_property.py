"""Any cutting and order of a browse log gives the same counts; no line, whatever its bytes, stops it."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore_scoring.urls.identity import host_of
from linkscore_server.browse_logs.reading import LogFile, ReadLog, batches_of
from linkscore_server.browse_logs.visits import VisitQuery, Visits

DAY = 20_000
QUESTION = VisitQuery("a.org", DAY, 2, 500)
_RECORDS = st.tuples(
    st.integers(0, 2 * 86_400 - 1),
    st.sampled_from("abc"),
    st.sampled_from(["/", "/x?a=1&b=2", "/x?b=2&a=1", "/y", "/z#part"]),
    st.sampled_from(["", "http://a.org/", "http://a.org/y", "https://b.org/"]),
)
_FEW = settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def record(given: tuple[int, str, str, str]) -> pb.BrowseRecord:
    second, client, path, referrer = given
    made = pb.BrowseRecord(client_id=client, url=f"http://a.org{path}", referrer=referrer)
    made.time.seconds = DAY * 86_400 + second
    return made


def counted(batches: list[list[tuple[int, str, str, str]]]) -> tuple[list[str], list[list[int]]]:
    with TemporaryDirectory() as folder:
        store = Visits(Path(folder) / "visits.duckdb")
        for number, rows in enumerate(batches):
            message = pb.ImportBrowseRecordsRequest(batch_id=str(number), records=map(record, rows))
            store.stage(message, host_of)
            store.show(str(number))
        found = store.counts(QUESTION)
    columns = (
        found.click_urls,
        found.click_days,
        found.clicks,
        found.from_urls,
        found.to_urls,
        found.transits,
    )
    return found.urls, [column.tolist() for column in columns]


@_FEW
@given(rows=st.lists(_RECORDS, min_size=1, max_size=30), seed=st.integers(0, 99), cuts=st.integers(1, 3))
def test_the_cutting_and_order_of_batches_do_not_matter(
    rows: list[tuple[int, str, str, str]], seed: int, cuts: int
) -> None:
    rng = random.Random(seed)
    shuffled = rng.sample(rows, len(rows)) + rng.choices(rows, k=3)  # some come twice
    pieces = [shuffled[n::cuts] for n in range(cuts)]
    assert counted(pieces) == counted([rows])


@_FEW
@given(
    junk=st.lists(
        st.binary(max_size=60).map(lambda line: line.replace(b"\n", b"").replace(b"\r", b"")), max_size=5
    ),
    kind=st.sampled_from(["tsv", "csv", "json", "combined"]),
)
def test_no_line_stops_an_import(junk: list[bytes], kind: str) -> None:
    """Junk comes last, as a quote of CSV that is never closed takes what follows with it."""
    good = {
        "tsv": b"1728000000\tc\thttp://a.org/\t-\n",
        "csv": b"1728000000,c,http://a.org/,-\n",
        "json": b'{"time": 1728000000, "client": "c", "url": "http://a.org/", "referrer": "-"}\n',
        "combined": b'c - - [04/Oct/2024:00:00:00 +0000] "GET http://a.org/ HTTP/1.1" 200 1 "-" "Mozilla"\n',
    }[kind]
    names = () if kind == "combined" else ("time", "client", "url", "referrer")
    read = ReadLog()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.write_bytes(good * 3 + b"\n".join(junk))
        batches = list(batches_of(LogFile(path, kind, names=names), (), read))
    assert sum(len(batch.records) for batch in batches) == 3
    assert read.records <= 3 + len(junk)
    assert len(read.samples) == min(5, read.left_out["bad_line"])
