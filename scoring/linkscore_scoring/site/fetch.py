"""One fetch as the engine hands it to a site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.types import UNKNOWN_LINK_PATH

NOT_MODIFIED = 304
"""HTTP status of a page that is as it was (RFC 9110, section 15.4.5)."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """One fetch, as the engine hands it over.

    `seq`: sequence number of the event. `key`, `requested`, `canonical`: identity hashes of the final URL,
    of the requested one (equal without redirect), and of the canonical form the page names (`key` if none).
    `requested_key`: identity of the requested URL. `features`: features of the page, None if no usable page
    came back. `link_keys`: identity hash of every link of `features`. `in_scope`: rows of the links that
    belong to the crawl. `page_links`: kind of page link of every link of `features`, see
    `pagination.anchors`. `source`, `link_path`, `depth`: context from the ticket: hash of the linking page
    (0 if unknown), link path id, clicks (None if unknown). `seed`: seed of the crawl, for the draws of the
    sampling plan. `now_s`, `status_code`: time of the fetch in seconds since the epoch, and its HTTP status,
    0 if there was no answer.
    """

    seq: int
    url: str
    key: int
    requested: int
    requested_key: str
    canonical: int
    features: PageFeatures | None
    link_keys: Sequence[int]
    in_scope: Sequence[int]
    page_links: Sequence[int] = ()
    source: int = 0
    link_path: int = UNKNOWN_LINK_PATH
    depth: int | None = None
    seed: int = 0
    now_s: float = 0.0
    status_code: int = 0

    @property
    def not_modified(self) -> bool:
        """Whether the server said that the page is as it was."""
        return self.status_code == NOT_MODIFIED and self.features is None
