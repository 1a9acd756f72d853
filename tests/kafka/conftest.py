"""Three real brokers for the tests of this folder; without Java, the jars or the client they are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

if find_spec("confluent_kafka") is None:  # the extra kafka
    collect_ignore_glob = ["test_*.py"]
else:
    import cluster


@pytest.fixture(scope="session")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[cluster.Brokers]:
    if not cluster.is_there():
        pytest.skip("needs Java 17 and the jars of Kafka: make test-kafka")
    made = cluster.Brokers(tmp_path_factory.mktemp("brokers"))
    try:
        made.start()
        yield made
    finally:
        made.close()
