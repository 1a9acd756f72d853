"""A forum made of columns, with page types written into its layouts, and a crawler that obeys."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.policies.base import SKIP
from linkscore_scoring.testing.crawl import page_of, visit

ROOT = "http://h"
INDEX_PAGE, THREAD_PAGE, OTHER_PAGE = [1.0], [2.0], [3.0]
Link = tuple[str, str, str]
"""Path, link path, anchor."""


class TypesAsWritten:
    """Reads the type of a page off its one signal."""

    class Side:
        """Calibrated already."""

        def probability(self, margin: float) -> float:
            """Return the margin."""
            return margin

    index = thread = Side()

    def classify(self, signals: list[float]) -> tuple[int, tuple[float, float]]:
        """Return the type, and near certainty of it as margins."""
        kind = int(signals[0])
        return kind, (0.95 if signals == INDEX_PAGE else 0.05, 0.95 if signals == THREAD_PAGE else 0.05)


@dataclass
class Forum:
    """Boards of `pages` pages with ten threads each, of two pages; every thread links to its author.

    `thread` is the path of threads: another one, and the forum was redesigned. `tags` lists show threads that
    boards show too.
    """

    boards: int = 3
    pages: int = 4
    thread: str = "/topic?t="
    tags: int = 0
    board_type: list[float] = field(default_factory=lambda: INDEX_PAGE)
    thread_type: list[float] = field(default_factory=lambda: THREAD_PAGE)

    def page(self, path: str) -> PageFeatures | None:
        """Return a page, None if there is none."""
        links, signals = [*self.menu(path)], OTHER_PAGE
        if path == "/":
            signals = self.board_type
            links += [(f"/board?b={b}", "html/body/main/h2/a[]", f"board {b}") for b in range(self.boards)]
        elif path.startswith("/tag?n="):
            signals, links = self.board_type, [*links, *self.tag(path)]
        elif path.startswith("/board?b="):
            signals, links = self.board_type, [*links, *self.board(path)]
        elif path.startswith(self.thread):
            signals, links = self.thread_type, [*links, *self.topic(path)]
        elif path.startswith(("/topic", "/subject")):
            return None
        return features(path, links, signals)

    def menu(self, path: str) -> list[Link]:
        """Return the links of every page."""
        return [
            (target, "html/body/nav/a[]", name)
            for target, name in (("/", "home"), ("/faq", "questions"), ("/search", "find"))
        ]

    def tag(self, path: str) -> list[Link]:
        """Return the links of a list of threads that boards list as well."""
        first = 3 * int(path.removeprefix("/tag?n="))
        threads = self.boards * self.pages * 10
        return [
            (f"{self.thread}{t % threads}", "html/body/main/ol/li/a[]", f"about {t}")
            for t in range(first, first + 3)
        ]

    def board(self, path: str) -> list[Link]:
        """Return the links of a page of a board."""
        board, _, number = path.removeprefix("/board?b=").partition("&page=")
        n, first = int(number or 1), (int(board) * self.pages + int(number or 1) - 1) * 10
        found = [
            (f"{self.thread}{t}", "html/body/main/ul/li/a[]", f"about {t}") for t in range(first, first + 10)
        ]
        found += [
            (f"/user?u={t % 7}", "html/body/main/ul/li/small/a[]", f"user {t % 7}")
            for t in range(first, first + 10)
        ]
        return (
            found
            + [
                (f"/board?b={board}" + (f"&page={k}" if k > 1 else ""), "html/body/main/p/a[]", str(k))
                for k in range(1, self.pages + 1)
                if k != n
            ]
            + [(f"/tag?n={k}", "html/body/aside/a[]", f"tag {k}") for k in range(self.tags)]
        )

    def topic(self, path: str) -> list[Link]:
        """Return the links of a page of a thread."""
        number, _, page = path.removeprefix(self.thread).partition("&page=")
        other = f"{self.thread}{number}" + ("" if page else "&page=2")
        return [
            (other, "html/body/main/p/a[]", "1" if page else "2"),
            (f"/user?u={int(number) % 7}", "html/body/main/b/a[]", "author"),
        ]

    def threads(self) -> set[str]:
        """Return the paths of all pages of threads."""
        ids = range(self.boards * self.pages * 10)
        return {f"{self.thread}{t}{page}" for t in ids for page in ("", "&page=2")}


def features(path: str, links: list[Link], signals: list[float]) -> PageFeatures:
    """Return a page with a layout that says what it is."""
    page = page_of(
        ROOT + path, ["html/body/main/text()"], links=[(ROOT + to, at) for to, at, _ in links],
        texts=[(path, 300)],
    )  # fmt: skip
    page.links.anchors = [anchor for _, _, anchor in links]
    page.layout = list(signals)
    return page


class Crawler:
    """Fetches first in, first out what is not to skip; keeps the rest aside."""

    def __init__(self, forum: Forum, start: str = "/", **params: object) -> None:
        config = CrawlConfig("c", PolicyChoice("focus", params))
        self.model = CrawlModel(config, ticket_key=b"key")
        self.forum, self.fetched = forum, list[str]()
        self._waiting = deque([(start, b"")])

    @property
    def policy(self) -> object:
        """The policy of the site."""
        return self.model.sites["h"].served

    def run(self, most: int = 1_000) -> Crawler:
        """Fetch up to so many pages more."""
        for _ in range(most):
            link = self._next()
            if link is None:
                break
            self._fetch(*link)
        return self

    def _next(self) -> tuple[str, bytes] | None:
        for _ in range(len(self._waiting)):
            path, ticket = self._waiting.popleft()
            if path in self.fetched:
                continue
            url = ROOT + path
            if (CrawlQueries(self.model).score_links([url], [url], [ticket], [""]).verdicts or [0]) != [SKIP]:
                return path, ticket
            self._waiting.append((path, ticket))
        return None

    def _fetch(self, path: str, ticket: bytes) -> None:
        self.fetched.append(path)
        page = self.forum.page(path)
        outcome = visit(self.model, ROOT + path, page, ticket)
        self.last = outcome
        links = outcome.links
        for row, url in enumerate(page.links.urls if page else []):
            self._waiting.append((url.removeprefix(ROOT), links.ticket_values[links.tickets[row]]))
