"""The packed memory of URLs answers and stores what the plain one does; without the kernels it is skipped."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("linkscore_native", reason="the compiled kernels are not installed: make native")

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.kernels import PURE
from linkscore_scoring.kernels.native import NATIVE
from linkscore_scoring.site.memory import LinkMemory

KEYS = st.sampled_from([*range(12), 2**63, 2**64 - 1])
PAGES = st.tuples(
    st.just("see"),
    st.integers(0, 6),
    st.integers(0, 3),
    st.lists(st.tuples(KEYS, st.integers(0, 4)), max_size=12),
)
FETCHES = st.tuples(st.just("fetched"), KEYS, st.integers(0, 3), st.integers(-2, 3))
LABELS = st.tuples(st.just("relabel"), KEYS, st.integers(-2, 3))


def taken(memory: LinkMemory, step: Any) -> Any:
    match step:
        case ("see", source, depth, links):
            keys, link_paths = [key for key, _ in links], [link_path for _, link_path in links]
            new = memory.unknown(keys)
            seen = memory.see(source, depth, keys, link_paths, {key: 10 + row for key, row in new.items()})
            return list(new.items()), seen
        case ("fetched", key, depth, cluster):
            return memory.fetched(key, depth=depth, cluster=cluster, pattern=5)
        case (_, key, cluster):
            return memory.relabel([(key, cluster)])


def known(memory: LinkMemory, keys: list[int]) -> list[Any]:
    of_each = [
        (memory.contexts(k), memory.depth(k), memory.cluster(k), memory.pattern(k), memory.waiting_group(k))
        for k in keys
    ]
    fetched = [memory.is_fetched(key) for key in keys], memory.fetched_among(keys)
    waiting = list(memory.waiting().items())
    columns = [memory.patterns(keys), memory.sources(keys)]
    return [len(memory), memory.evicted, of_each, fetched, *columns, waiting]


@given(st.lists(PAGES | FETCHES | LABELS, max_size=40), st.integers(1, 9), st.integers(1, 3))
def test_both_memories_answer_and_store_the_same(steps: list[Any], links: int, contexts: int) -> None:
    plain = LinkMemory(kernels=PURE, max_links=links, max_contexts=contexts)
    packed = LinkMemory(kernels=NATIVE, max_links=links, max_contexts=contexts)
    keys = [*range(13), 2**63, 2**64 - 1]
    for step in steps:
        assert taken(packed, step) == taken(plain, step)
        assert known(packed, keys) == known(plain, keys)
    stored = msgpack.packb(plain.to_state())
    assert msgpack.packb(packed.to_state()) == stored
    again = LinkMemory(kernels=NATIVE, max_links=links, max_contexts=contexts)
    again.load_state(msgpack.unpackb(stored))
    assert known(again, keys) == known(plain, keys)
    assert msgpack.packb(again.to_state()) == stored


@pytest.mark.parametrize("record", [[], [1, 0], [1, 0, 2, 3], [1, 0, 2**70], [1, 0, 2, -1, 4]])
def test_a_record_that_is_none_is_a_corrupt_state(record: list[int]) -> None:
    memory = LinkMemory(kernels=NATIVE)
    with pytest.raises(CorruptState, match="record of 7"):
        memory.load_state({"evicted": 0, "keys": [7], "records": [record]})
