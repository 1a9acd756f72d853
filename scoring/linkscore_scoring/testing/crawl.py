"""A crawl of a generated site as a crawler would do it: one queue per bucket, re-ordered as it goes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import FeedbackGiven, ModelActivated, PageFetched
from linkscore_scoring.engine.links import batch_of
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.engine.results import PageOutcome
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.features.types import Links, PageFeatures, PathTrie
from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.base import Policy, Scores
from linkscore_scoring.site.learning import LearningConfig, SiteBounds, run
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import LinkBatch

Link = tuple[str, str]


def trie_of(leaves: Iterable[str]) -> PathTrie:
    """Return the trie of leaf paths such as ``html/body[home]/text()``; a path given twice counts twice."""
    trie = PathTrie()
    nodes: dict[tuple[int, str], int] = {}
    for leaf in leaves:
        at = -1
        for step in leaf.split("/"):
            if (at, step) not in nodes:
                nodes[at, step] = len(trie.parents)
                tag, _, classes = step.rstrip("]").partition("[")
                trie.parents.append(at)
                trie.tags.append(tag)
                trie.classes.append(" ".join(sorted(classes.split())))
                trie.leaves.append(0)
            at = nodes[at, step]
        trie.leaves[at] += 1
    return trie


def page_of(
    url: str,
    leaves: Iterable[str] = (),
    *,
    links: Sequence[Link] = (),
    texts: Sequence[tuple[str, int]] = (),
    canonical: str = "",
) -> PageFeatures:
    """Return the features of a page of a URL that is its own identity, as `canonical` is.

    `leaves`: paths of displayed leaves besides those of the links. `links`: (URL, link path) in document
    order; the link path is a leaf path too. `texts`: (name, characters) of long text blocks; one name is one
    text. All stand before the links.
    """
    table = list(dict.fromkeys(link_path for _, link_path in links))
    places = {link_path: i for i, link_path in enumerate(table)}
    urls = [target for target, _ in links]
    columns = Links(
        urls=urls,
        keys=list(urls),
        anchors=[""] * len(urls),
        link_paths=[places[link_path] for _, link_path in links],
        rels=[""] * len(urls),
        blocks_before=[len(texts)] * len(urls),
        link_path_table=table,
    )
    return PageFeatures(
        url,
        url,
        paths=trie_of([*leaves, *(link_path for _, link_path in links)]),
        block_hashes=[hash64(name) for name, _ in texts],
        block_chars=[chars for _, chars in texts],
        links=columns,
        canonical_key=canonical,
        text_chars=sum(chars for _, chars in texts),
    )


_ROOT = "http://site.example"
_PER_LIST = 10  # posts on a page of the list, as forums have; chosen, not measured


class GeneratedSite:
    """A message board of 24 lists with ten posts each.

    The wanted pages are the posts: each has three texts of its own. Half as many members have pages without
    text; every post has a printable copy, every list two sort orders. So about three pages in ten are wanted.

    The seed decides lengths, members and how the posts are varied. `home`: URL to start from. `example`: URL
    of a wanted page.
    """

    home = f"{_ROOT}/"
    example = f"{_ROOT}/post/0"
    lists, posts, members = 24, 24 * _PER_LIST, 12 * _PER_LIST

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._author = rng.integers(self.members, size=self.posts)
        self._chars = rng.integers(150, 600, size=(self.posts, 3))
        self._images = rng.integers(0, 4, size=self.posts)
        self._replies = rng.integers(1, 6, size=self.posts)

    def is_wanted(self, url: str) -> bool:
        """Say whether a URL is one of the wanted pages."""
        return "/post/" in url

    def page(self, url: str) -> PageFeatures | None:
        """Return the features of a page, None if there is no such page."""
        kind, _, rest = url.removeprefix(self.home).partition("/")
        n = int(rest.partition("-")[0] or 0)
        links = [(self.home, "html/body/nav/a[home]"), (f"{_ROOT}/list/0", "html/body/nav/a[lists]")]
        sizes = self._chars[n].tolist() if kind in ("post", "print") else []
        if kind == "list":
            leaves = ["html/body/main/ol/li/em/text()"] * _PER_LIST
            for post in range(n * _PER_LIST, (n + 1) * _PER_LIST):
                links += [
                    (f"{_ROOT}/post/{post}", "html/body/main/ol/li/a[title]"),
                    (f"{_ROOT}/member/{self._author[post]}", "html/body/main/ol/li/span/a[member]"),
                ]
            links += [(f"{_ROOT}/list/{n}-{order}", "html/body/main/p/a[sort]") for order in ("new", "old")]
            if n + 1 < self.lists:
                links.append((f"{_ROOT}/list/{n + 1}", "html/body/main/div/a[next]"))
        elif kind == "post":
            leaves = [
                *["html/body/article/p/text()"] * 3,
                *["html/body/article/figure/img"] * int(self._images[n]),
                *["html/body/article/div[reply]/text()"] * int(self._replies[n]),
            ]
            links += [
                (f"{_ROOT}/member/{self._author[n]}", "html/body/article/header/a[author]"),
                (f"{_ROOT}/print/{n}", "html/body/article/footer/a[print]"),
            ]
        elif kind == "print":
            leaves = ["html/body[print]/pre/text()"] * 3
            links = [(f"{_ROOT}/post/{n}", "html/body[print]/a[back]")]
        elif kind == "member":
            leaves = ["html/body/table/tr/td/text()"] * 4
            others = ((n + step) % self.members for step in (1, 7))
            links += [(f"{_ROOT}/member/{m}", "html/body/table/tr/a[friend]") for m in others]
        else:
            leaves = ["html/body/h1/text()"]
            lists = range(0, self.lists, 4)
            links += [(f"{_ROOT}/list/{n}", "html/body/main/ul/li/a[list]") for n in lists]
        texts = [(f"text {n}.{i}", chars) for i, chars in enumerate(sizes)]
        return page_of(url, leaves, links=links, texts=texts)


_KEY = b"conformance"


def crawl_model(
    choice: PolicyChoice, *, seed: int = 0, sample_pages: int = 24, bounds: SiteBounds | None = None
) -> CrawlModel:
    """Return a new crawl that learns its sites from small samples."""
    learning = LearningConfig(sample_pages=sample_pages)
    config = CrawlConfig("check", choice, learning=learning, bounds=bounds or SiteBounds(), seed=seed)
    return CrawlModel(config, ticket_key=_KEY)


class SimulatedCrawl:
    """Fetches pages of a site in the order a policy asks for, `fetched`; learning happens at once.

    With `reports` it tells after each fetch whether the page was wanted.
    """

    def __init__(
        self,
        model: CrawlModel,
        site: GeneratedSite,
        *,
        seeds: list[str] | None = None,
        reports: bool = False,
    ) -> None:
        self.model = model
        self.reports = reports
        self.generated = site
        self.fetched: list[str] = []
        self._queues: dict[str, deque[tuple[str, bytes]]] = {}
        self._known: set[str] = set()
        for url in seeds or [site.home, site.example]:
            self._put("", url, b"")

    def fetch(self, pages: int) -> SimulatedCrawl:
        """Fetch up to `pages` more pages."""
        for _ in range(pages):
            names = [name for name, queue in self._queues.items() if queue]
            if not names:
                break
            if "" not in names:
                names = [names[CrawlQueries(self.model).plan_fetches(names, 0).order()[0]]]
            self._take(*self._queues[min(names)].popleft())
        return self

    @property
    def policy(self) -> Policy:
        """The policy that learned in this crawl."""
        return self._shard().served

    @property
    def site(self) -> SiteModel:
        """The model of its site."""
        return self._shard().model

    def links(self, n: int, rows: Sequence[int] | None = None) -> LinkBatch:
        """Return up to `n` URLs of the site, found or never seen, or only some rows of these."""
        urls = [url for queue in self._queues.values() for url, _ in queue][: n // 2]
        urls += [f"{self.generated.home}never/seen-{i}?page={i % 7}" for i in range(n - len(urls))]
        chosen = urls if rows is None else [urls[row] for row in rows]
        return batch_of(self.site, chosen, chosen)

    def scores(self, n: int) -> Scores:
        """Return the scores of `links(n)`."""
        return self.policy.score(self.links(n), self.site).scores

    def _shard(self) -> SiteShard:
        site = self.model.site_of(self.generated.home)
        return self.model.sites.get(site) or self.model.new_site(site)

    def wanted_share(self) -> float:
        """Return the share of wanted pages among those fetched."""
        return sum(map(self.generated.is_wanted, self.fetched)) / max(1, len(self.fetched))

    def _take(self, url: str, ticket: bytes) -> None:
        self.fetched.append(url)
        outcome = visit(self.model, url, self.generated.page(url), ticket)
        page = self.generated.page(url)  # asked for again: sites with sessions write other links each time
        if self.reports:
            report(self.model, url, float(self.generated.is_wanted(url)))
        names, tickets = outcome.links.bucket_names, outcome.links.ticket_values
        links = (
            zip(page.links.urls, page.links.link_paths, outcome.links.buckets, strict=True) if page else ()
        )
        for found, link_path, bucket in links:
            self._put(names[bucket], found, tickets[link_path])

    def _put(self, bucket: str, url: str, ticket: bytes) -> None:
        if url not in self._known:
            self._known.add(url)
            self._queues.setdefault(bucket, deque()).append((url, ticket))


def visit(
    model: CrawlModel, url: str, features: PageFeatures | None, ticket: bytes = b"", *, event_id: str = ""
) -> PageOutcome:
    """Let a crawl take in a fetch, and learn whatever is due."""
    status, error = (200, "") if features is not None else (0, "timeout")
    event = PageFetched(event_id, model.site_of(url), url, url, status, error, ticket, 0.0, features)
    outcome = cast(PageOutcome, model.apply(model.seq + 1, event))
    for job in model.take_jobs():
        learned = run(job)
        model.apply(model.seq + 1, ModelActivated(job.site, job.built_from_seq, learned.to_state()))
    return outcome


def scores_after(policy: str, pages: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Crawl pages of one host, path -> paths it links to; return the score of each link of the last one.

    >>> scores_after("breadth_first", {"/": ["/x"], "/x": ["/y"]})
    {'/y': 0.333}
    """
    model, host = crawl_model(PolicyChoice(policy)), "http://site.example"
    for path, targets in pages.items():
        page = page_of(host + path, links=[(host + target, "html/a[]") for target in targets])
        scored = visit(model, page.url, page).links.scores
    return dict(zip(targets, map(float, scored.round(3)), strict=True))


def report(model: CrawlModel, url: str, reward: float, *, ticket: bytes = b"") -> bool:
    """Tell a crawl what a page was worth; say whether that was new."""
    event = FeedbackGiven("", model.site_of(url), url, ticket, reward, 0.0)
    return bool(model.apply(model.seq + 1, event))
