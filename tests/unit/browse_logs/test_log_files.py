"""Access logs and exports as people have them: five visits each."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from linkscore_server.browse_logs.reading import ReadLog, batches_of, log_file

ACCESS = '203.0.113.{0} - - [10/Oct/2026:13:55:3{0} +0000] "GET /a/{0} HTTP/1.1" 200 512 "-" "Mozilla"\n'
FIRST = "203.0.113.{0} "
ROW = "2026-10-10T13:55:3{0}Z,203.0.113.{0},http://shop.test/a/{0}\n"
GA4 = {"url": "page_location", "time": "event_timestamp", "client": "user_pseudo_id"}
LINES = "".join(map(ACCESS.format, range(1, 6)))
ROWS = "".join(map(ROW.format, range(1, 6)))


def each(line: str) -> str:
    return "".join(map(line.format, range(1, 6)))


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        (LINES, {}),
        (each(ACCESS.replace(FIRST, "203.0.113.{0}, 10.1.1.1 ")), {}),
        (each(ACCESS.replace(FIRST, "203.0.113.{0}:51234 ")), {}),
        (each("shop.test:80 " + ACCESS), {}),
        (LINES.replace("\n", "\r\n", 2), {}),
        ("\n\n" + LINES, {}),
        ("\0" * 4096 + LINES, {}),  # as a machine leaves it that lost power
        (gzip.compress(LINES.encode()), {}),
        ("\ufefftime,client,url\n" + ROWS, {}),
        ("time;client;url\r\n" + ROWS.replace(",", ";"), {}),
        (f"event_timestamp,user_pseudo_id,page_location\n{ROWS}", GA4),
        (each('{{"time": "2026-10-10T13:55:3{0}Z", "client": "203.0.113.{0}", "url": "/a/{0}"}}\n'), {}),
    ],
    ids=[
        *("plain", "two addresses", "port", "hosts", "both ends of lines", "empty lines", "zeros", "gzip"),
        *("byte order mark", "semicolons", "GA4", "JSON"),
    ],
)
def test_a_log_gives_its_visits(tmp_path: Path, content: str | bytes, columns: dict[str, str]) -> None:
    path = tmp_path / "log"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    file = log_file(path, columns=columns, host="http://shop.test")
    found = [record for batch in batches_of(file, (), ReadLog()) for record in batch.records]
    assert [(each.client_id, each.url, each.time.seconds % 10) for each in found] == [
        (f"203.0.113.{n}", f"http://shop.test/a/{n}", n) for n in range(1, 6)
    ]
