"""`Crawl.respect`: links of what a site reserves are to skip, and a page that does says so.

Rules of a site come with its `robots.txt` and `tdmrep.json`, which the crawler sends as pages: they are no
pages to anybody else. What they and each page say is in the events, whatever the crawl respects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import Any

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.engine.limits import Limit, SentPage, SiteLimit
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.respect.signals import NOFOLLOW, USES, said_by_head, said_by_headers
from linkscore_scoring.respect.site_files import FILES, Row, everywhere, read_rules, reserved_at
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stored
from linkscore_scoring.types import LinkBatch

MAX_FILES = 5_000
"""Files kept of a site of many hosts, latest first. A bound: some 100 bytes each."""
MAX_SITE_CHARS = 200_000
"""Characters of patterns kept of a site: a bound. Beyond, what a file reserves anywhere is reserved on all of
its host."""
_RESPECT = 4  # of the wire contract: SKIP_REASON_RESPECT


class RespectLimit(Limit):
    """Uses that the crawl is for, and gives way to who reserves them."""

    @property
    def uses(self) -> frozenset[str]:
        """The uses by name."""
        return frozenset(self.value or ())

    def problems(self, *, groups: int) -> Iterator[FieldProblem]:
        """See `Limit.problems`."""
        for i, name in enumerate(self.value):
            if name in USES:
                continue
            meant = get_close_matches(name.lower(), USES, n=1)
            rule = f"did you mean {meant[0]!r}?" if meant else f"there are {', '.join(USES)}"
            yield FieldProblem(f"respect[{i}]", f"no use is named {name[:50]!r}: {rule}")

    def read(self, page: SentPage) -> dict[str, Any]:
        """See `Limit.read`: the rules of a site file; of other pages what they reserve."""
        if (path := _file(page.url)) is not None:
            return {"rules": read_rules(path, page.body, page.content_encoding)}
        said = said_by_headers(page.headers)
        said |= said_by_head(page.body, page.content_encoding)
        return {"reserved": sorted(said)} if said else {}

    def of_site(self) -> SiteLimit:
        """See `Limit.of_site`."""
        return SiteRespect()


class SiteRespect(SiteLimit):
    """The rules of a site, by the URL of their file; those of files that reserve nothing are not kept."""

    limit: RespectLimit
    files: Stored[dict[str, list[Row]]]

    def __init__(self) -> None:
        self.files = {}

    def notice(self, event: PageFetched) -> bool:
        """See `SiteLimit.notice`: a site file, whose rules take the place of those before.

        One that fails to come or is as it was changes nothing (RFC 9309, section 2.3.1).
        """
        url = event.requested_key
        if _file(url) is None:
            return False
        if event.features is None and not _is_gone(event.status_code):
            return True
        facts = event.features.facts if event.features is not None else {}
        rows = facts.get("rules", ())
        self.files.pop(url, None)
        if any(no for _, no, _ in rows):
            kept = sum(len(pattern) for of_file in self.files.values() for pattern, _, _ in of_file)
            fits = kept + sum(len(pattern) for pattern, _, _ in rows) <= MAX_SITE_CHARS
            self.files[url] = rows if fits else [everywhere(rows)]
            drop_oldest(self.files, MAX_FILES)
        return True

    def judge(self, links: LinkBatch, site: SiteModel, reasons: list[int]) -> None:
        """See `SiteLimit.judge`."""
        if not self.files:
            return
        uses = self.limit.uses
        for row, url in enumerate(links.urls):
            if not reasons[row] and not uses.isdisjoint(self._reserved_at(url)):
                reasons[row] = _RESPECT

    def judge_of(self, page: PageFeatures, reasons: list[int]) -> None:
        """See `SiteLimit.judge_of`: links of a page that asks not to follow them."""
        if page.nofollow or NOFOLLOW in page.facts.get("reserved", ()):
            reasons[:] = [reason or _RESPECT for reason in reasons]

    def reserved(self, event: PageFetched) -> Collection[str]:
        """See `SiteLimit.reserved`."""
        if event.features is None:
            return ()
        found = self._reserved_at(event.url) if self.files else set()
        return self.limit.uses.intersection(found.union(event.features.facts.get("reserved", ())))

    def _reserved_at(self, url: str) -> set[str]:
        origin, path = _split(url)
        found = set[str]()
        for name in FILES:
            if rows := self.files.get(origin + name):
                found |= reserved_at(rows, path)
        return found


def _split(url: str) -> tuple[str, str]:
    """Return scheme and host of a URL, as in identities, and its path with its query."""
    slash = url.find("/", url.find("://") + 3)
    origin, path = (url[:slash].lower(), url[slash:]) if slash >= 0 else (url.lower(), "/")
    return origin.removesuffix(":80" if origin.startswith("http:") else ":443"), path


def _is_gone(status_code: int) -> bool:
    """Say whether an answer says that there is no such file, other than that it was asked for too often."""
    return 400 <= status_code < 500 and status_code not in {408, 425, 429}


def _file(url: str) -> str | None:
    """Return the path of a URL if it is that of a site file."""
    path = _split(url)[1]
    return path if path in FILES else None
