"""Packed columns are read by protobuf as the numbers they were made of."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_server.grpc.convert import packed

ORDER, VALUES = pb.RankBucketsResponse.ORDER_FIELD_NUMBER, pb.RankBucketsResponse.VALUES_FIELD_NUMBER


@given(st.lists(st.integers(0, 2**32 - 1)), st.lists(st.floats(allow_nan=False)))
def test_columns_are_what_protobuf_writes(order: list[int], values: list[float]) -> None:
    whole = pb.RankBucketsResponse(order=order, values=values)
    columns = packed.uints(ORDER, np.array(order, dtype=np.int64)) + packed.doubles(VALUES, np.array(values))
    assert columns == whole.SerializeToString()
    assert pb.RankBucketsResponse.FromString(columns) == whole
