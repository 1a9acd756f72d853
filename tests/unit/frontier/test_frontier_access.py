"""Every call of the contract has a role."""

from linkscore_frontier import urlfrontier_pb2
from linkscore_frontier.access import ROLES


def test_every_call_has_a_role() -> None:
    service = urlfrontier_pb2.DESCRIPTOR.services_by_name["URLFrontier"]
    assert {method.name for method in service.methods} == set(ROLES)
