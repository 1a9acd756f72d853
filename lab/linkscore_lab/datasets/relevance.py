"""Which pages of a stored site are relevant: by label, by URL, by structured data or by a file of rewards."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path

from linkscore_lab.datasets.feedback_file import read_rewards
from linkscore_lab.datasets.schema_types import schema_types, type_name
from linkscore_scoring.errors import InvalidInput

WANTED_REWARD = 0.5


class Relevance(ABC):
    """Tells relevant pages from others.

    Attributes
    ----------
    reads_body
        Whether `reward` looks at the body; if not, callers may pass ``b""``.
    """

    reads_body = False

    @abstractmethod
    def reward(self, identity: str, url: str, page_type: str, body: bytes) -> float | None:
        """Return the reward of a page in [0, 1]; None when nothing is known of it.

        `identity` is that of `url`, `page_type` its label (empty without one), `body` decoded bytes.
        """

    def is_wanted(self, identity: str, url: str, page_type: str, body: bytes) -> bool:
        """Whether a page is relevant: its reward is at least `WANTED_REWARD`."""
        reward = self.reward(identity, url, page_type, body)
        return reward is not None and reward >= WANTED_REWARD


class ByType(Relevance):
    """Relevant are the pages whose label is one of `types`.

    Raises
    ------
    InvalidInput
        Field ``relevant``: no type.
    """

    def __init__(self, types: Iterable[str]) -> None:
        self.types = _names(types, "relevant")

    def reward(self, identity: str, url: str, page_type: str, body: bytes) -> float:
        """Return 1 or 0."""
        return float(page_type in self.types)


class ByUrl(Relevance):
    """Relevant are the pages in whose URL, as stored, `pattern` is found.

    Anywhere in it, as ``re.search`` does: begin with ``^`` and end with ``$`` to match the whole URL.

    Raises
    ------
    InvalidInput
        Field ``relevant_url``: no regular expression.
    """

    def __init__(self, pattern: str) -> None:
        if not pattern:
            raise InvalidInput("must be a regular expression, got nothing", field="relevant_url")
        try:
            self.pattern = re.compile(pattern)
        except re.error as error:
            rule = f"must be a regular expression, got {pattern!r}: {error}"
            raise InvalidInput(rule, field="relevant_url") from error

    def reward(self, identity: str, url: str, page_type: str, body: bytes) -> float:
        """Return 1 or 0."""
        return float(self.pattern.search(url) is not None)


class ByStructuredData(Relevance):
    """Relevant are the pages that carry an item of one of `types`, at any depth.

    ``QAPage``, ``schema:QAPage`` and ``https://schema.org/QAPage`` name the same type; case does not matter.

    Raises
    ------
    InvalidInput
        Field ``structured_data``: no type.
    """

    reads_body = True

    def __init__(self, types: Iterable[str]) -> None:
        self.types = frozenset(map(type_name, _names(types, "structured_data")))

    def reward(self, identity: str, url: str, page_type: str, body: bytes) -> float:
        """Return 1 or 0."""
        return float(not self.types.isdisjoint(schema_types(body)))


class ByFeedback(Relevance):
    """Pages have the reward a file gives them, see `read_rewards`; of pages without a row nothing is known.

    Attributes
    ----------
    rewards
        Reward by identity.
    """

    def __init__(self, path: Path) -> None:
        self.rewards: Mapping[str, float] = read_rewards(path)

    def reward(self, identity: str, url: str, page_type: str, body: bytes) -> float | None:
        """Return what the file says, or None."""
        return self.rewards.get(identity)


def choose_relevance(
    *,
    types: Iterable[str] = (),
    url: str = "",
    structured_data: Iterable[str] = (),
    feedback: Path | None = None,
) -> Relevance:
    """Return the one kind of relevance that is given.

    Raises
    ------
    InvalidInput
        Field ``relevant`` if it is none or several; else as the kind says.
    """
    types, structured_data = tuple(types), tuple(structured_data)
    given = {"types": types, "url": url, "structured data": structured_data, "feedback": feedback}
    names = [name for name, value in given.items() if value]
    if len(names) != 1:
        got = " and ".join(names) or "none"
        raise InvalidInput(f"must be given in exactly one way, got {got}", field="relevant")
    if feedback is not None:
        return ByFeedback(feedback)
    if url:
        return ByUrl(url)
    return ByType(types) if types else ByStructuredData(structured_data)


def _names(names: Iterable[str], field: str) -> frozenset[str]:
    kept = frozenset(name.strip() for name in names) - {""}
    if not kept:
        raise InvalidInput("must name at least one type, got none", field=field)
    return kept
