"""Batches: of a file and of a program they mean the same, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.urls.identity import host_of
from linkscore_server.browse_logs.reading import Cleaning, ReadLog, batches_of, log_file
from linkscore_server.browse_logs.staging import check, staged
from linkscore_server.browse_logs.visits import VisitQuery, Visits
from support.browse_logs.visit_logs import DAY, ROWS, SITE, as_json, row

MOST = records = 10
QUESTION = VisitQuery(SITE, DAY, 2, 500)


def record(given: dict[str, object]) -> pb.BrowseRecord:
    made = pb.BrowseRecord(
        client_id=str(given["client"]),
        url=str(given["url"]),
        referrer=str(given["referrer"]),
        user_agent=str(given["user_agent"]),
        method=str(given["method"]),
        status_code=int(str(given["status"])),
    )
    made.time.seconds = int(str(given["time"]))
    return made


def by_rows(batch_id: str = "1") -> pb.ImportBrowseRecordsRequest:
    return pb.ImportBrowseRecordsRequest(batch_id=batch_id, records=[record(r) for r in ROWS])


def read(path: Path, **options: object) -> list[pb.ImportBrowseRecordsRequest]:
    path.write_bytes(as_json(ROWS))
    return list(batches_of(log_file(path), Cleaning(), ReadLog(), **options))  # type: ignore[arg-type]


def test_what_a_file_says_and_what_is_sent_mean_the_same(tmp_path: Path) -> None:
    (of_file,) = read(tmp_path / "a.jsonl")
    store, events, transits = Visits(), [], []
    for message in (by_rows(), of_file):
        event = staged(message, store, host_of, False)
        store.show(message.batch_id)
        events.append((event.days, event.counts))
        transits.append(store.counts(QUESTION).transits.tolist())
    assert events[0] == events[1]
    assert events[0] == ({DAY: 3, DAY + 1: 2}, {"": 5, "repeat": 1})
    assert transits == [[2, 2, 1]] * 2  # each visit counts once, in however many batches it came


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"batch_id": ""}, "batch_id"),
        ({"batch_id": "é" * 65}, "batch_id"),
        ({"records": [pb.BrowseRecord()] * 11}, "records"),
        ({"left_out": {str(n): 1 for n in range(33)}}, "left_out"),
        ({"left_out": {"bot": 2**64 - 1}}, "left_out['bot']"),
    ],
)
def test_what_is_wrong_with_a_batch_is_named(message: dict[str, object], field: str) -> None:
    request = pb.ImportBrowseRecordsRequest(**{"batch_id": "1", **message})  # type: ignore[arg-type]
    with pytest.raises(InvalidInput) as caught:
        check(request, MOST)
    assert [problem.field for problem in caught.value.problems] == [field]


def test_a_file_is_cut_into_the_same_batches_each_time(tmp_path: Path) -> None:
    first = read(tmp_path / "a.jsonl", batch_records=4)
    assert [len(message.records) for message in first] == [4, 2]
    assert read(tmp_path / "b.jsonl", batch_records=4) == first
    other = read(tmp_path / "a.jsonl", batch_records=3)
    assert not {m.batch_id for m in first} & {m.batch_id for m in other}


def test_reading_counts_what_it_leaves_out_and_bad_lines(tmp_path: Path) -> None:
    rows = [*ROWS, row(5, "c", "/x.png"), row(6, "c", "/y", status=404)]
    (tmp_path / "a.jsonl").write_bytes(as_json(rows) + b'{"time": "2024-10-04", "client"\n\xff\n')
    log = ReadLog()
    batches = list(batches_of(log_file(tmp_path / "a.jsonl"), Cleaning(), log, batch_records=5))
    assert log.records == 10
    assert dict(log.left_out) == {"asset": 1, "status": 1, "bad_line": 2}
    assert sum((dict(m.left_out).get("bad_line", 0) for m in batches), 0) == 2
    assert log.left_out["bad_line"] == 2
    assert '{"aaaa": "9999-99-99", "aaaaaa"' in log.samples
