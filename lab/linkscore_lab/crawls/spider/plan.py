"""What the parent tells a crawl process, and what the crawl reports back: both as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class SpiderPlan:
    """One crawl."""

    entry: str  # URL of the first request
    budget: int  # Pages to download; the crawl stops exactly there, or earlier when nothing is left
    # Address of the server that answers for a stored site, ``http://127.0.0.1:PORT``. Empty: ask the URL's
    # own host
    via: str = ""
    # Path of a text file with one identity a line: links to anything else are dropped and counted. Empty:
    # only links that leave the entry's host are
    known: str = ""
    # Path of a text file with one identity a line: these pages yield an item, the feedback of a real
    # extraction. Empty: no page yields anything
    rewards: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)  # Extra Scrapy settings: the mode of the crawl

    def dumps(self) -> str:
        """Return the plan as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def loads(cls, text: str) -> SpiderPlan:
        """Return the plan that `dumps` wrote."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class PageFetch:
    """One downloaded page, in crawl order."""

    url: str  # Final URL
    identity: str  # What the metrics compare
    status: int  # HTTP status; 0 when the download failed
    elapsed_s: float  # Seconds since the crawl began

    def dumps(self) -> str:
        """Return the fetch as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def loads(cls, text: str) -> PageFetch:
        """Return the fetch that `dumps` wrote."""
        return cls(**json.loads(text))


def read_identities(path: str) -> frozenset[str]:
    """Return the lines of the file `path`."""
    return frozenset(Path(path).read_text(encoding="utf-8").splitlines())
