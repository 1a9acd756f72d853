"""Whatever happens to a stretch of an archive behind its first bytes, records it did not touch still come."""

from __future__ import annotations

import random
from io import BytesIO
from itertools import accumulate

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from linkscore_lab.archives.frames import ByteSource
from linkscore_lab.archives.record import ReadTally
from linkscore_lab.archives.warc import read_warc
from support.warc_writing import members, page

NOISE = random.Random(3)
RECORDS = [page(str(n), NOISE.randbytes(200 * n).hex()) for n in range(8)]
KINDS = {
    "s.warc": RECORDS,
    "s.warc.gz": members(*RECORDS),
    "s.warc.zst": [zstandard.ZstdCompressor(write_checksum=True).compress(data) for data in RECORDS],
}


@pytest.mark.parametrize("name", KINDS)
@given(place=st.floats(0, 1), removed=st.integers(0, 300), put=st.binary(max_size=40))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_records_out_of_reach_of_a_change_still_come(
    name: str, place: float, removed: int, put: bytes
) -> None:
    whole = b"".join(KINDS[name])
    start = max(16, int(place * len(whole)))
    changed = whole[:start] + put + whole[start + removed :]
    found = {
        record.url.rpartition("/")[2] for record in read_warc(ByteSource(name, BytesIO(changed)), ReadTally())
    }
    ends = list(accumulate(map(len, KINDS[name])))
    spans = zip([0, *ends], ends, strict=False)
    untouched = {str(n) for n, (first, end) in enumerate(spans) if end <= start or first >= start + removed}
    assert untouched <= found


def test_a_frame_the_library_takes_for_an_empty_one_is_damage() -> None:
    """Found by chance: for some corrupt frames zstandard says `eof` and takes no byte."""
    rng = random.Random(1)
    whole = b"".join(KINDS["s.warc.zst"])
    for _ in range(300):
        start = max(16, int(rng.random() * len(whole)))
        put, removed = rng.randbytes(rng.randrange(40)), rng.randrange(300)
        tally = ReadTally()
        changed = whole[:start] + put + whole[start + removed :]
        assert len(list(read_warc(ByteSource("s.warc.zst", BytesIO(changed)), tally))) <= len(RECORDS)
