"""A frame that can be written can be read back."""

from __future__ import annotations

import pytest

from linkscore_scoring.errors import LimitExceeded
from linkscore_server.storage import frames


def test_events_of_more_than_a_frame_holds_are_refused_before_they_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(frames, "_MOST_BYTES", 1_000)
    most = [b"x" * 996]  # and 4 bytes of msgpack
    whole = memoryview(frames.SEGMENT_HEADER + frames.pack(1, most))
    (frame,) = frames.frames(whole, "a.log", is_last=True)
    assert frames.unpack(whole, frame) == most
    with pytest.raises(LimitExceeded, match="send fewer pages"):
        frames.pack(1, [b"x" * 997])
