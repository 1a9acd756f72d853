"""Services are added by name: a method that is registered costs each call, see `services.contract.ByName`."""

import grpc
import pytest

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore.v1 import browse_log_service_pb2_grpc as pb_grpc
from linkscore_server.app import Application
from linkscore_server.settings import Settings

IN_MEMORY = Settings(listen="127.0.0.1:0", metrics_listen="", data_dir="memory")


async def test_calls_about_browse_logs_say_what_to_install_where_there_is_no_duckdb(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("linkscore_server.app.find_spec", lambda name: None)
    app = Application(IN_MEMORY)
    await app.start()
    async with grpc.aio.insecure_channel(app.address) as channel:
        logs = pb_grpc.BrowseLogServiceStub(channel)  # type: ignore[no-untyped-call]
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await logs.GetBrowseStats(pb.GetBrowseStatsRequest())
        assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED
        assert "needs DuckDB" in (refused.value.details() or "")
    await app.stop()
