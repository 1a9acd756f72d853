"""How big the project is, room by room, and that no room grows: ``size.toml`` has the ceilings.

``tools/size.py`` prints the table and fails where a room is above a ceiling. ``tools/size.py --lower ROOM``
writes what is measured into ``size.toml`` where it is less, for the rooms named or for all. It never raises a
ceiling: edit its table and say why in a sentence there, ``why = "..."``. A ceiling above the lowest that git
remembers needs one.

Counted are the files that git knows. Lines: all of them, empty ones and comments too, of the languages in
``CODE``, for some rooms also of the kinds in ``ALSO``. Statements: nodes of Python's grammar that are
statements (`def`, `class`, `if`, an assignment, ... each counts one, those inside them too), except strings
that stand alone, which are docstrings. Tests of clients count as tests; what generators write and what others
wrote (``APART``) is a row of its own and no part of the product.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

PRODUCT = (
    *("scoring", "server", "lab", "clients/python", "clients/go", "clients/node", "clients/java"),
    *("cli", "console", "frontier", "native"),
)
BESIDE = ("proto", "tests", "docs", "research", "benchmarks", "tools", "examples", "deploy")
CODE = frozenset({".py", ".rs", ".go", ".ts", ".js", ".mjs", ".java"})
ALSO = {
    "proto": {".proto"},
    "docs": {".md"},
    "research": {".md"},
    "deploy": {".yaml", ".yml", ".tpl", ".service"},
    "tests": {".c"},
}
APART = re.compile(r"^clients/.*/(v1|linkscorev1|gen|dist)/|/vendor/|_pb2|\.pb\.go$|linkscore/client\.py$")
TEST = re.compile(r"/(tests?|__tests__)/|_test\.|\.test\.")
LIMITS = ("lines", "statements")

Sizes = dict[str, dict[str, int]]


def sizes(root: Path) -> Sizes:
    """Return files, lines and statements of each room, of `product` and of what is `apart`."""
    found: Sizes = defaultdict(lambda: {"files": 0, "lines": 0, "statements": 0})
    names = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in set(names):  # a file in conflict is there three times
        room, path = room_of(name), root / name
        if room and path.is_file():
            text = path.read_text(encoding="utf-8")
            statements = statements_of(text) if path.suffix == ".py" else 0
            for row in {room, "product"} if room in PRODUCT else {room}:
                found[row]["files"] += 1
                found[row]["lines"] += len(text.splitlines())
                found[row]["statements"] += statements
    return found


def room_of(name: str) -> str:
    """Return the room whose lines those of a file are; empty if they are not counted."""
    room = next((room for room in (*PRODUCT, *BESIDE) if name.startswith(f"{room}/")), "")
    suffix = Path(name).suffix
    if not room or suffix not in CODE | ALSO.get(room, set()):
        return ""
    if APART.search(name):
        return "apart"
    return "tests" if room in PRODUCT and TEST.search(name) else room


def statements_of(text: str) -> int:
    """Return the statements of a Python file without those that are a string alone."""
    return sum(isinstance(node, ast.stmt) and not is_string(node) for node in ast.walk(ast.parse(text)))


def is_string(node: ast.stmt) -> bool:
    """Whether a statement is a docstring, or a string below a name."""
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def git(root: Path, *words: str) -> str:
    """Return what git prints."""
    return subprocess.run(["git", *words], cwd=root, capture_output=True, check=True, encoding="utf-8").stdout


def lowest(root: Path) -> dict[tuple[str, str], int]:
    """Return the lowest that each ceiling ever was, by room and kind, as far as git remembers."""
    found: dict[tuple[str, str], int] = {}
    for commit in git(root, "log", "--format=%H", "--", "size.toml").split():
        names = git(root, "ls-tree", "--name-only", commit, "size.toml").split()
        before = tomllib.loads(git(root, "show", f"{commit}:size.toml")) if names else {}
        for room, ceilings in before.items():
            for kind in LIMITS:
                if kind in ceilings:
                    found[room, kind] = min(ceilings[kind], found.get((room, kind), ceilings[kind]))
    return found


def findings(measured: Sizes, ceilings: dict[str, dict[str, int]], root: Path) -> list[str]:
    """Return a sentence for each room above its ceiling, and for each ceiling raised without a why."""
    found = [
        f"{room} has {measured[room][kind]} {kind}, its ceiling in size.toml is {ceilings[room][kind]}: "
        "take as many away elsewhere in the room, or raise the ceiling and say why there"
        for room in ceilings
        for kind in LIMITS
        if measured[room][kind] > ceilings[room][kind]
    ]
    found += [
        f"{room} has no table in size.toml"
        for room in measured
        if room not in {*ceilings, "apart", "product"}
    ]
    found += [
        f"the ceiling of {kind} of {room} was {least} and is {ceilings[room][kind]}: say why in its table, "
        'why = "..."'
        for (room, kind), least in lowest(root).items()
        if room in ceilings and ceilings[room][kind] > least and not ceilings[room].get("why")
    ]
    return found


def lowered(measured: Sizes, text: str, rooms: Sequence[str]) -> str:
    """Return `size.toml` with each ceiling of some rooms that is above what is measured lowered to it."""
    room, lines = "", []
    for line in text.splitlines(keepends=True):
        if head := re.fullmatch(r'\["?([\w/]+)"?\]\n?', line):
            room = head[1]
        elif room in rooms and (entry := re.match(r"(lines|statements) = (\d+)", line)):
            now = min(int(entry[2]), measured[room][entry[1]])
            line = f"{entry[1]} = {now}\n"
        lines.append(line)
    return "".join(lines)


def table(measured: Sizes) -> str:
    """Return the sizes as a table, the product's sum below its rooms."""
    rows = [(room, measured[room]) for room in (*PRODUCT, "product", *BESIDE, "apart") if room in measured]
    head = f"{'room':<16}{'files':>8}{'lines':>10}{'statements':>12}\n"
    return head + "".join(
        f"{room:<16}{row['files']:>8,}{row['lines']:>10,}{row['statements']:>12,}\n" for room, row in rows
    )


def main() -> int:
    """Print the table; return 1 if a room is above its ceiling."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lower", nargs="*", metavar="ROOM", help="lower ceilings to what is measured")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="another checkout")
    given = parser.parse_args()
    measured, file = sizes(given.root), given.root / "size.toml"
    print(table(measured), end="")
    if given.lower is not None:
        text = lowered(measured, file.read_text(encoding="utf-8"), given.lower or [*measured])
        file.write_text(text, encoding="utf-8")
    found = findings(measured, tomllib.loads(file.read_text(encoding="utf-8")), given.root)
    for finding in found:
        print(f"size: {finding}", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
