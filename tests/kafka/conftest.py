"""Three real brokers for the tests of this folder; without Java, the jars or the client they are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

if find_spec("confluent_kafka") is None:  # the extra kafka
    collect_ignore_glob = ["test_*.py"]
else:
    from support.cluster import brokers as cluster
    from support.cluster import links as networks


@pytest.fixture(scope="session")
def links() -> Iterator[networks.Links | None]:
    """Give a network of its own for each server, None where that cannot be."""
    if not networks.are_possible():
        yield None
        return
    made = networks.Links()
    yield made
    made.close()


@pytest.fixture(scope="session")
def brokers(
    tmp_path_factory: pytest.TempPathFactory, links: networks.Links | None
) -> Iterator[cluster.Brokers]:
    if not cluster.is_there():
        pytest.skip("needs Java 17 and the jars of Kafka: make test-kafka")
    host = networks.HERE if links is not None else "127.0.0.1"
    made = cluster.Brokers(tmp_path_factory.mktemp("brokers"), host)
    try:
        made.start()
        yield made
    finally:
        made.close()
