"""Sites kept in git: what a page is at a time, which changes are its own, and who shows it first."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from linkscore_research.revisits.crawled import Crawled
from linkscore_research.revisits.git_site import GitSite
from linkscore_research.revisits.history import history
from linkscore_research.revisits.replay import Oracle, follow
from linkscore_scoring.errors import InvalidInput

START_S, DAY_S = 1_600_000_000, 86_400
URL = "https://kept.example/blog/"


class Repository:
    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, day: float = 0.0) -> None:
        date = f"{START_S + int(day * DAY_S)} +0000"
        env = os.environ | {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "HOME": str(self.path)}
        who = ("-c", "user.name=x", "-c", "user.email=x@kept.example", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *arguments], cwd=self.path, env=env, check=True, capture_output=True)

    def commit(self, day: float, files: dict[str, bytes | None]) -> None:
        for name, body in files.items():
            path = self.path / name
            if body is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "build", day=day)


def page(text: str, *links: str, build: int = 0) -> bytes:
    shown = "".join(f'<a href="{link}">of {link}</a>' for link in links)
    return f"<title>{text}</title><p>Build {build}, by a generator</p><p>{text}</p>{shown}".encode()


@pytest.fixture
def blog(tmp_path: Path) -> Repository:
    """An empty repository of a blog."""
    return Repository(tmp_path / "blog")


def build(blog: Repository, day: float, posts: dict[int, str]) -> None:
    old = {f"site/{n}/index.html": None for n in range(12) if (blog.path / f"site/{n}/index.html").exists()}
    new = {f"site/{n}/index.html": page(f"{text} {'post ' * n}", build=int(day)) for n, text in posts.items()}
    front = page("Front of the blog", *(f"/blog/{n}/" for n in posts), "mailto:x", "http://[", build=int(day))
    blog.commit(day, {**old, **new, "site/index.html": front, "site/logo.png": b"\0", "notes.txt": b"x"})


def lived(blog: Repository) -> None:
    posts = dict.fromkeys(range(9), "first")
    build(blog, 0.0, posts)
    build(blog, 2.0, posts)
    build(blog, 3.0, posts | {1: "second"})
    build(blog, 5.0, posts | {1: "second", 9: "new"})
    build(blog, 8.0, {n: text for n, text in (posts | {1: "third", 9: "new"}).items() if n != 2})


def test_builds_that_write_every_file_change_only_pages_whose_own_text_differs(blog: Repository) -> None:
    lived(blog)
    site = GitSite(blog.path, root="site", base_url=URL)
    found = {page.name: (page.born, page.changes.tolist(), page.gone) for page in site.history.pages}
    assert found["1/index.html"] == (0.0, [3.0, 8.0], float("inf"))
    assert found["2/index.html"] == (0.0, [], 8.0)
    assert found["9/index.html"] == (5.0, [], float("inf"))
    assert site.history.days == 8.0
    assert [page.url for page in site.pages][:2] == [URL, f"{URL}0/"]
    new = site.row_of(f"{URL}9/")
    assert site.history.lists[new] == 0
    assert (new in site.links(0, 4.9), new in site.links(0, 5.0)) == (False, True)
    site.close()


def test_the_span_ends_where_it_is_said_and_begins_with_what_was_there(blog: Repository) -> None:
    lived(blog)
    site = GitSite(
        blog.path, root="/site/", base_url=URL[:-1], start=START_S + 4 * DAY_S, end=START_S + 6 * DAY_S
    )
    assert site.history.days == 2.0
    assert site.history.changes == 0
    assert [page.born for page in site.history.pages] == [0.0] * 10 + [1.0]
    site.close()


def test_a_crawl_learns_from_files_and_finds_pages_by_their_links(blog: Repository) -> None:
    lived(blog)
    site = GitSite(blog.path, root="site", base_url=URL)
    learned = follow(site.history, Crawled(site), 365.0, site.links)
    known = follow(site.history, Oracle(site.history), 365.0, site.links)
    site.close()
    assert learned.total == known.total > 50
    assert not any(found != found for found in learned.found)
    assert learned.measured().freshness > 0.9


def test_the_command_compares_schedules(blog: Repository) -> None:
    lived(blog)
    options = [
        "--root",
        "site",
        "--branch",
        "main",
        "--rule",
        "adaptive",
        "--fetches",
        "100",
        "--fetches",
        "200",
    ]
    file = blog.path / "out.json"
    done = CliRunner().invoke(history, [str(blog.path), "--base-url", URL, *options, "--json", str(file)])
    assert done.exit_code == 0, done.output
    assert "rates known" in done.output
    runs = json.loads(file.read_text())["runs"]
    assert [(run["per_year"], run["schedule"]) for run in runs] == [
        (100.0, "adaptive"),
        (100.0, "rates known"),
        (200.0, "adaptive"),
        (200.0, "rates known"),
    ]
    assert runs[0]["fetches"] == runs[1]["fetches"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"base_url": "kept.example"}, "base-url"),
        ({"base_url": f"{URL}?a=b"}, "base-url"),
        ({"root": "nowhere"}, "history"),
        ({"branch": "nowhere"}, "branch"),
        ({"branch": "--all"}, "branch"),
        ({"start": START_S + 9.0 * DAY_S}, "history"),
        ({"end": START_S - 1.0}, "history"),
    ],
)
def test_what_cannot_be_replayed_is_refused_by_name(
    blog: Repository, given: dict[str, str], field: str
) -> None:
    lived(blog)
    with pytest.raises(InvalidInput) as refused:
        GitSite(blog.path, **{"root": "site", "base_url": URL, **given})  # type: ignore[arg-type]
    assert [problem.field for problem in refused.value.problems] == [field]


def test_a_folder_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="git rev-parse says"):
        GitSite(tmp_path, base_url=URL)


def test_binary_and_huge_files_are_no_pages(blog: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkscore_research.revisits.git_objects.MOST_BYTES", 5_000)
    build(blog, 0.0, {1: "a", 2: "b", 3: "c", 4: "d"})
    blog.commit(1.0, {"site/1/index.html": b"\0 binary", "site/2/index.html": b"<p>" + b"long " * 2_000})
    blog.commit(2.0, {"site/3/index.html": b"", "site/4/index.html": b"<b>" * 1_000})
    site = GitSite(blog.path, root="site", base_url=URL)
    assert sorted(site.missed) == ["1/index.html", "2/index.html"]
    assert [page.name for page in site.history.pages] == ["index.html", "3/index.html", "4/index.html"]
    site.close()
