"""A file of properties for the Kafka client: one ``name = value`` a line, as librdkafka calls them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib.util import find_spec

_log = logging.getLogger(__name__)

OWN = frozenset(
    {
        "acks",
        "allow.auto.create.topics",
        "auto.offset.reset",
        "bootstrap.servers",
        "enable.auto.commit",
        "enable.idempotence",
        "fetch.message.max.bytes",
        "fetch.wait.max.ms",
        "group.id",
        "linger.ms",
        "message.max.bytes",
        "message.timeout.ms",
        "receive.message.max.bytes",
        "reconnect.backoff.max.ms",
        "request.timeout.ms",
        "retry.backoff.max.ms",
        "socket.connection.setup.timeout.ms",
        "socket.timeout.ms",
        "topic.metadata.refresh.interval.ms",
    }
)
"""What linkscore sets itself: that nothing acknowledged is lost hangs on some of it."""


def parse(text: str) -> dict[str, str]:
    """Return the properties of a file.

    Raises
    ------
    ValueError
        If a line is none, or sets what linkscore sets itself, naming it.

    Examples
    --------
    >>> parse('''
    ... # to the brokers of the test
    ... security.protocol = SASL_SSL
    ... ''')
    {'security.protocol': 'SASL_SSL'}
    """
    found = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if not name or not equals:
            raise ValueError(f"line {number}: must be name = value")
        if name in OWN:
            raise ValueError(f"line {number}: {name} is set by linkscore")
        found[name] = value
    return found


def is_installed() -> bool:
    """Say whether the client is there: the extra `kafka`."""
    return find_spec("confluent_kafka") is not None


def refusal(properties: Mapping[str, str]) -> str:
    """Return why the client does not take some properties, empty if it does; connects to nobody."""
    from confluent_kafka import KafkaException, Producer

    try:
        Producer(dict(properties), logger=_log)
    except KafkaException as exc:
        return str(exc.args[0].str())
    return ""
