"""What a git repository holds, by plumbing commands that run nothing a repository configures."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from linkscore_scoring.errors import InvalidInput

MOST_BYTES = 10_000_000
"""A bound: a larger file is no page."""
_ENTRY = b":"
"""How `git diff-tree --raw` marks an entry; object names are hexadecimal."""
_READ = 1 << 16


@dataclass(frozen=True)
class Commit:
    """One commit along first parents; `time` in seconds since the epoch, never before its parent's."""

    name: str
    time: float
    parents: tuple[str, ...]


class GitRepository:
    """Reads commits, changed files and contents."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._run("rev-parse", "--git-dir")

    def commits(self, branch: str, until: float) -> list[Commit]:
        """Return the commits of a branch up to a time, oldest first."""
        names = ("--first-parent", "--reverse", "--timestamp", "--parents", "--end-of-options", branch, "--")
        found: list[Commit] = []
        for line in self._run("rev-list", *names, field="branch").decode().splitlines():
            time, name, *parents = line.split()
            latest = max(float(time), found[-1].time if found else 0.0)
            if latest > until:
                break
            found.append(Commit(name, latest, tuple(parents)))
        return found

    def changed(self, commits: Iterable[Commit], root: str) -> Iterator[tuple[str, str, str]]:
        """Yield commit, path and object of each file in `root` that a commit changed; no object if gone."""
        asked = "".join(f"{' '.join((each.name, *each.parents[:1]))}\n" for each in commits)
        options = ("--stdin", "--root", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff")
        answer = iter(self._run("diff-tree", *options, "--", root or ".", given=asked.encode()).split(b"\0"))
        commit = ""
        for token in answer:
            if not token.startswith(_ENTRY):
                commit = token.decode()
                continue
            _, mode, _, name, _ = token.decode().split()
            path = next(answer).decode("utf-8", "surrogateescape")
            yield commit, path, name if mode.startswith("100") else ""

    def contents(self) -> Contents:
        """Return a reader of files."""
        return Contents(self._command("cat-file", "--batch"))

    def _command(self, *arguments: str) -> list[str]:
        # a partial clone must not go to its remote, and a path is a path
        return [
            "git",
            "-C",
            str(self._folder),
            "--literal-pathspecs",
            "-c",
            "protocol.allow=never",
            *arguments,
        ]

    def _run(self, *arguments: str, field: str = "history", given: bytes = b"") -> bytes:
        try:
            done = subprocess.run(  # noqa: S603 - git, and no shell
                self._command(*arguments), input=given, capture_output=True, check=False, env=_environment()
            )
        except FileNotFoundError as exc:
            raise InvalidInput("git must be installed", field=field) from exc
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise InvalidInput(f"git {arguments[0]} says: {said[0] if said else 'nothing'}", field=field)
        return done.stdout


class Contents:
    """Reads files by the names of their objects, in one process of git."""

    def __init__(self, command: list[str]) -> None:
        self._git = subprocess.Popen(  # noqa: S603 - likewise
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
        )

    def read(self, name: str) -> bytes | None:
        """Return a file; None if it is not there, binary (a zero byte), or larger than `MOST_BYTES`."""
        assert self._git.stdin is not None
        assert self._git.stdout is not None
        self._git.stdin.write(f"{name}\n".encode())
        self._git.stdin.flush()
        _, _, size = self._git.stdout.readline().decode().rpartition(" ")
        if not size.strip().isdigit():
            return None
        left = int(size) + 1  # a line feed comes after it
        is_page = left <= MOST_BYTES
        body = self._git.stdout.read(left) if is_page else b""
        while not is_page and left:
            left -= len(self._git.stdout.read(min(left, _READ)))
        return None if not is_page or b"\0" in body else body[:-1]

    def close(self) -> None:
        """End the process."""
        self._git.communicate()


def _environment() -> dict[str, str]:
    """Return the environment without what a hook of another repository is told by it."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return own | {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
