"""A site out of a git repository of built HTML: at a time, a page is the file of the last commit up to it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import numpy as np
from lxml import etree
from lxml.html import HTMLParser

from linkscore_research.revisits.git_objects import GitRepository
from linkscore_research.revisits.histories import PageHistory, SiteHistory
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.revisits.pages import DAY_S
from linkscore_scoring.urls.identity import host_of, validate_url

_SUFFIXES = (".html", ".htm", ".xhtml")
_INDEX = "index.html"
_BUILD_DAYS = 1.0
"""Days for which a file may be gone while a build is under way: some erase a site before they write it anew.
Chosen, not measured."""
_MOST_CHARS = 2_000
"""A bound: a longer link leads to no file."""


_TEXTS = etree.XPath(
    "//text()[not(ancestor::a or ancestor::script or ancestor::style or ancestor::noscript)]",
    smart_strings=False,
)
_LINKS = etree.XPath("//a/@href", smart_strings=False)
_BASE = etree.XPath("string(//base/@href)", smart_strings=False)
_NUMBERS = re.compile(r"\d+")
_LETTER = re.compile(r"[^\W\d_]")
_SHARED, _SHARED_SHARE = 4, 0.05
"""Pages, and share of a site's pages, that a text may be on and still be a page's own: a post, its list, its
tag and its month have it. What more pages show is furniture. Chosen, not measured."""


class PageTexts:
    """One version of a page: its texts outside links, numbers aside, and where its links lead.

    A number is no text: counters, dates and hours of a build are not what a page says.
    """

    __slots__ = ("base", "hrefs", "texts")

    def __init__(self, body: bytes) -> None:
        self.texts: frozenset[int] = frozenset()
        self.hrefs: list[str] = []
        self.base = ""
        try:
            root = etree.fromstring(body, HTMLParser(encoding="utf-8")) if body.strip() else None
        except etree.ParserError:
            root = None
        if root is not None:
            said = (_NUMBERS.sub("0", " ".join(text.split())) for text in _TEXTS(root))
            self.texts = frozenset(hash(text) for text in said if _LETTER.search(text))
            self.hrefs, self.base = _LINKS(root), _BASE(root)


class SiteTexts:
    """Counts on how many pages of a site each text is now."""

    def __init__(self) -> None:
        self._pages: Counter[int] = Counter()
        self._n_pages = 0

    def replace(self, versions: Iterable[tuple[frozenset[int] | None, frozenset[int] | None]]) -> list[bool]:
        """Take in what one build wrote; return of each page whether its own text changed."""
        pairs = list(versions)
        before = {text: self._pages[text] for pair in pairs for text in pair[0] or ()}
        for old, new in pairs:
            self._pages.subtract(old or ())
            self._pages.update(new or ())
            self._n_pages += (new is not None) - (old is not None)
        most = max(_SHARED, _SHARED_SHARE * self._n_pages)
        return [
            old is not None
            and new is not None
            and any(max(before.get(text, 0), self._pages[text]) <= most for text in old ^ new)
            for old, new in pairs
        ]


class Version(NamedTuple):
    """What a page is from a day on: the name of its object, empty if it is not there."""

    day: float
    name: str


@dataclass(frozen=True)
class GitPage:
    """A page: its file below the root, its URL as it was linked first, and its versions, ascending."""

    path: str
    url: str
    versions: list[Version]

    def version(self, day: float) -> str:
        """Return the object that it is on a day, empty if it is not there."""
        at = bisect_right(self.versions, day, key=lambda version: version.day)
        return self.versions[at - 1].name if at else ""


class _Shown(NamedTuple):
    """When a page was linked first, by which file, and as what."""

    day: float
    by: str
    url: str


class GitSite:
    """All pages that were linked at some time; a file that no page links to is no page of a site."""

    def __init__(
        self,
        repository: Path,
        *,
        root: str = "",
        base_url: str,
        start: float | None = None,
        end: float | None = None,
        branch: str = "HEAD",
    ) -> None:
        self._base = _folder_url(base_url)
        self._git = GitRepository(repository)
        self.missed: set[str] = set()
        self._files, days = self._read_versions(_path(root), branch, start, end)
        self._texts, self._now = SiteTexts(), dict[str, PageTexts]()
        self._links: dict[tuple[str, str], frozenset[str]] = {}
        self._shown: dict[str, _Shown] = {}
        self._changes: dict[str, list[float]] = defaultdict(list)
        self._shows = Counter[str]()
        self._contents = self._git.contents()
        for day, files in self._builds():
            self._take(day, files)
        self._now.clear()
        self._number(days)

    def body(self, name: str) -> bytes:
        """Return the contents of an object."""
        return self._contents.read(name) or b""

    def links(self, row: int, day: float) -> list[int]:
        """Return the rows of pages that a page links to on a day, of those that are there."""
        page = self.pages[row]
        paths = self._links.get((page.path, page.version(day)), frozenset())
        rows = (self._rows[path] for path in paths if path in self._rows)
        return sorted(to for to in rows if self.pages[to].version(day))

    def row_of(self, url: str) -> int:
        """Return the row of a page by its URL, -1 if there is none."""
        return self._rows.get(self._path_of(url), -1)

    def close(self) -> None:
        """Let go of the repository."""
        self._contents.close()

    def _read_versions(
        self, root: str, branch: str, start: float | None, end: float | None
    ) -> tuple[dict[str, list[Version]], float]:
        """Return the versions of all files, and the days of the span; older ones came with its beginning."""
        commits = self._git.commits(branch, np.inf if end is None else end)
        times = {each.name: each.time for each in commits}
        written = [
            (times[commit], path.removeprefix(f"{root}/"), name)
            for commit, path, name in self._git.changed(commits, root)
            if path.lower().endswith(_SUFFIXES)
        ]
        begin = start if start is not None else written[0][0] if written else 0.0
        until = end if end is not None else written[-1][0] if written else 0.0
        if not begin < until or not any(begin < time <= until for time, _, _ in written):
            rule = (
                f"must have commits of HTML files in {root or 'its root'} between --from and --to on {branch}"
            )
            raise InvalidInput(rule, field="history")
        found: dict[str, list[Version]] = defaultdict(list)
        for time, path, name in written:
            _add(found[path], Version(max(0.0, (time - begin) / DAY_S), name))
        return dict(found), (until - begin) / DAY_S

    def _builds(self) -> Iterator[tuple[float, dict[str, str]]]:
        """Yield builds in their order: the day, and the object of each file that was written or erased."""
        builds: dict[float, dict[str, str]] = defaultdict(dict)
        for path, versions in self._files.items():
            for day, name in versions:
                builds[day][path] = name
        yield from sorted(builds.items())

    def _take(self, day: float, files: Mapping[str, str]) -> None:
        """Take in one build: which pages changed, and which were linked for the first time."""
        before = {path: self._now.pop(path, None) for path in files}
        for path, name in files.items():
            if name and (body := self._contents.read(name)) is not None:
                self._now[path] = PageTexts(body)
            elif name:
                self.missed.add(path)
        pairs = [(_texts(old), _texts(self._now.get(path))) for path, old in before.items()]
        for path, is_changed in zip(files, self._texts.replace(pairs), strict=True):
            if is_changed:
                self._changes[path].append(day)
        self._note_links(day, files)

    def _note_links(self, day: float, files: Mapping[str, str]) -> None:
        new: dict[str, list[_Shown]] = defaultdict(list)
        for path, name in files.items():
            if (read := self._now.get(path)) is None:
                continue
            here = urljoin(self._url_of(path), read.base)
            urls = {urldefrag(_joined(here, href)).url for href in read.hrefs if len(href) < _MOST_CHARS}
            read.hrefs.clear()
            to = {self._path_of(url): url for url in sorted(urls, reverse=True)}
            to.pop("", None)
            self._links[path, name] = frozenset(to)
            for path_to, url in to.items():
                if path_to not in self._shown:
                    new[path_to].append(_Shown(day, path, url))
        for path, shown in new.items():
            # of several the one that showed most so far; then the nearest to the root
            self._shown[path] = best = max(shown, key=lambda by: (self._shows[by.by], -len(by.by), by.by))
            self._shows[best.by] += 1

    def _number(self, days: float) -> None:
        """Give each page that was linked, and the front page, a row."""
        if _INDEX in self._files:
            self._shown.setdefault(_INDEX, _Shown(0.0, "", self._base))
        lives = {}
        for path, shown in self._shown.items():
            there = [version.day for version in self._files[path] if version.name]
            if there and path not in self.missed:
                lives[path] = max(there[0], shown.day)
        ordered = sorted(lives, key=lambda path: (lives[path], path != _INDEX, path))
        self._rows = {path: row for row, path in enumerate(ordered)}
        self.pages = [GitPage(path, self._shown[path].url, self._files[path]) for path in ordered]
        made, lists = [], []
        for path, born in ((path, lives[path]) for path in ordered):
            last, gaps = self._files[path][-1], _gaps(self._files[path])
            gone = np.inf if last.name else max(last.day, born)
            changes = np.unique(np.array([*self._changes[path], *gaps]))
            made.append(PageHistory(path, 0, born, gone, changes[(changes > born) & (changes < gone)]))
            lists.append(self._rows.get(self._shown[path].by, -1) if born else -1)
        self.history = SiteHistory(host_of(self._base), days, made, lists)

    def _url_of(self, path: str) -> str:
        return self._base + path.removesuffix(_INDEX)

    def _path_of(self, url: str) -> str:
        """Return the file that a web server would give for a URL, empty if there is none."""
        parts = urlsplit(url)
        base = urlsplit(self._base)
        if parts.netloc != base.netloc or not parts.path.startswith(base.path):
            return ""
        path = unquote(parts.path.removeprefix(base.path))
        ways = (
            path,
            f"{path.rstrip('/')}/{_INDEX}".lstrip("/"),
            *(f"{path}{suffix}" for suffix in _SUFFIXES),
        )
        return next((way for way in ways if way in self._files), "")


def _add(versions: list[Version], new: Version) -> None:
    """Add a version after those there are; what a build erased only to write it again was never gone."""
    while versions and (
        versions[-1].day == new.day or (not versions[-1].name and new.day - versions[-1].day < _BUILD_DAYS)
    ):
        versions.pop()
    versions.append(new)


def _gaps(versions: list[Version]) -> list[float]:
    """Return the days on which a page went or came back."""
    return [after.day for before, after in pairwise(versions) if not (before.name and after.name)]


def _texts(page: PageTexts | None) -> frozenset[int] | None:
    return None if page is None else page.texts


def _joined(base: str, href: str) -> str:
    try:
        return urljoin(base, href.strip())
    except ValueError:
        return ""


def _path(folder: str) -> str:
    """Return a folder as git names it, empty for the root."""
    named = PurePosixPath("/", folder).relative_to("/").as_posix()
    return "" if named == "." else named


def _folder_url(url: str) -> str:
    """Return a URL that files are below."""
    validate_url(url, "base-url", error=InvalidInput)
    parts = urlsplit(url)
    if parts.query or parts.fragment:
        raise InvalidInput("must have neither query nor fragment", field="base-url")
    return url if parts.path.endswith("/") else f"{url}/"
