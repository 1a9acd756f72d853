"""A crawler with a date for each URL keeps a living site fresh: the command ``dated``.

It has what Nutch, StormCrawler and frontiers have in common: each run fetches what is due by the
`next_fetch_time` of the server, and what that links to. See `living_crawls`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from urllib.error import HTTPError
from urllib.request import urlopen

from linkscore import Client, page
from linkscore_research.revisits.living_crawls import Run, compare
from linkscore_research.revisits.replay import START_S
from linkscore_scoring.revisits.values import DAY_S

_CRAWL = "dated"


def main(argv: Sequence[str]) -> None:
    """Print a line a site."""
    compare(crawl, "python -m linkscore_research.revisits dated", __doc__, argv)


def crawl(run: Run) -> None:
    """Fetch what is due, page by page, then what was not fetched before."""
    kept = run.folder.with_suffix(".json")
    dates: dict[str, float] = json.loads(kept.read_text()) if kept.exists() else {f"{run.site}/": 0.0}
    due = deque(sorted(url for url, day in dates.items() if day <= run.day))
    with Client(run.target) as client:
        client.ensure_crawl(crawl=_CRAWL, revisit={"fetches_per_day": run.pages / run.every})
        while due:
            url = due.popleft()
            status, body = _fetch(url)
            sent = page(url=url, body=body, status_code=status, content_type="text/html")
            result = client.ingest_pages(crawl=_CRAWL, pages=[sent]).results[0]
            next_s = result.next_fetch_time.ToNanoseconds() / 1e9
            dates[url] = (next_s - START_S) / DAY_S if next_s else float("inf")
            new = [link for link in result.links.urls if link not in dates]
            due += new
            dates |= dict.fromkeys(new, float("inf"))
    kept.write_text(json.dumps(dates))


def _fetch(url: str) -> tuple[int, bytes]:
    """Return status and body."""
    try:
        with urlopen(url) as answer:  # noqa: S310 - the site of the lab
            return answer.status, answer.read()
    except HTTPError as exc:
        return exc.code, b""
