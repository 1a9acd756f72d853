"""Who may do what: every RPC has a role, crawls are checked, changes are written down."""

from __future__ import annotations

import pytest

from linkscore.v1 import (
    browse_log_service_pb2,
    crawl_service_pb2,
    inspection_service_pb2,
    link_scoring_service_pb2,
    site_model_service_pb2,
)
from linkscore_server.operator_files import Role
from linkscore_server.services.contract import RPCS

FILES = (
    link_scoring_service_pb2,
    crawl_service_pb2,
    site_model_service_pb2,
    browse_log_service_pb2,
    inspection_service_pb2,
)
METHODS = {
    f"{service.name}/{method.name}": method
    for file in FILES
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}


def test_every_rpc_of_the_contract_has_a_role_and_no_other() -> None:
    assert list(RPCS) == list(METHODS)


@pytest.mark.parametrize("method", [m for m in METHODS if m.split("/")[1].startswith("Delete")])
def test_only_an_admin_deletes_and_it_is_written_down(method: str) -> None:
    assert (RPCS[method].role, RPCS[method].is_told) == (Role.ADMIN, True)


@pytest.mark.parametrize("method", [m for m in METHODS if m.split("/")[1].startswith(("Get", "List"))])
def test_reading_needs_no_more_than_the_role_read(method: str) -> None:
    own = method == "CrawlService/GetServerInfo"  # which tells where files are
    assert RPCS[method].role == (Role.ADMIN if own else Role.READ)
