"""Delete an annex from a clean clone, with its tests and registrations, and run the tests of the core.

``tools/deletion_test.py NAME ...`` tries annexes, ``--all`` every one, ``--turn`` the one whose day it is,
``--together`` several deleted at once, ``--list`` says what there are. ``--fast`` imports every module and
runs some tests of the core's rooms; without it all tests of the core run, and ``make run`` unless
``--no-run`` is given. What is tried is HEAD.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Iterable, Iterator
from importlib.metadata import distributions, files
from pathlib import Path

from annexes import ANNEXES, STANDS_WITHOUT, Annex

ROOT = Path(__file__).parents[1]
SOURCES = ("clients/python", "scoring", "server", "frontier", "cli", "console", "lab")
# Who may use every annex: what of these imports something that is gone goes with it.
USERS = ("tests", "benchmarks", "research")
FAST = (
    "tests/unit/engine/test_crawl.py",
    "tests/unit/engine/test_replay.py",
    "tests/unit/engine/test_bucket_ranking.py",
    "tests/unit/cli/test_output.py",
    "tests/unit/policies/harvest/test_warm_start.py",
    "tests/unit/policies/test_policy_names.py",
    "tests/unit/server/crawls/test_crawl_registry.py",
    "tests/unit/server/storage/test_stores.py",
    "tests/unit/server/test_plugins.py",
    "tests/unit/server/test_settings.py",
    "tests/contract/test_contract_pages.py",
    "tests/contract/test_contract_rank_buckets.py",
)
IMPORT_ALL = """
import importlib, pkgutil, sys
for root in sys.argv[1:]:
    for found in pkgutil.walk_packages(importlib.import_module(root).__path__, root + "."):
        try:
            found.name.endswith("__main__") or importlib.import_module(found.name)
        except ModuleNotFoundError as exc:
            if exc.name.partition(".")[0] not in {"crawl4ai", "crawlee", "linkscore_native"}:  # not here
                raise
"""


Definition = tuple[str, set[str]]
"""Source of a definition, and the names that it uses."""


def main() -> int:
    """Try annexes; return 1 if the core does not stand without one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("annexes", nargs="*", metavar="ANNEX", help=f"one of {', '.join(ANNEXES)}")
    parser.add_argument("--all", action="store_true", help="every annex, one after the other")
    parser.add_argument("--turn", action="store_true", help="one, another one with each commit")
    parser.add_argument("--together", action="store_true", help="all of them gone from one clone")
    parser.add_argument("--list", action="store_true", help="say what annexes there are")
    parser.add_argument("--fast", action="store_true", help="imports and unit tests only")
    parser.add_argument("--no-run", action="store_true", help="without `make run`")
    parser.add_argument("--processes", default="2", help="that run tests, by default 2")
    parser.add_argument("--keep", action="store_true", help="leave the clone there")
    given = parser.parse_args()
    if given.list:
        for name, annex in ANNEXES.items():
            print(f"{name:20} {annex.says}")
        return 0
    names = list(ANNEXES) if given.all else [whose_turn()] if given.turn else given.annexes
    if not names or not set(names) <= set(ANNEXES):
        parser.error(f"name annexes of {', '.join(ANNEXES)}, or --all, --turn, --list")
    tries = {"+".join(names): names} if given.together else {name: [name] for name in names}
    failed = [name for name, gone in tries.items() if not stands_without(name, merged(gone), given)]
    if failed:
        print(f"the core does not stand without: {', '.join(failed)}")
    return 1 if failed else 0


def whose_turn() -> str:
    """Return the annex whose turn it is, of those the core stands without: one after the other, by commit."""
    commits = int(output("git", "rev-list", "--count", "HEAD"))
    return STANDS_WITHOUT[commits % len(STANDS_WITHOUT)]


def merged(names: Iterable[str]) -> Annex:
    """Return several annexes as one, which has no package that an annex left needs too."""
    found = [ANNEXES[name] for name in names]
    left = {package for name in ANNEXES.keys() - set(names) for package in ANNEXES[name].packages}
    lists = ("parts", "tests", "words", "extras")
    return Annex(
        "; ".join(annex.says for annex in found),
        *(tuple(item for annex in found for item in getattr(annex, part)) for part in lists),
        tuple(package for annex in found for package in annex.packages if package not in left),
        run=next((annex.run for annex in found if annex.run != Annex.run), Annex.run),
    )


def stands_without(name: str, annex: Annex, given: argparse.Namespace) -> bool:
    """Say whether the core's tests pass in a clone without an annex."""
    folder = Path(tempfile.mkdtemp(prefix=f"linkscore-without-{name[:40]}-"))
    started = time.monotonic()
    try:
        why = tried(name, annex, folder, given)
    finally:
        if given.keep:
            print(f"{name}: kept in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{name}: {why or 'passes'} ({time.monotonic() - started:.0f} s)", flush=True)
    return not why


def tried(name: str, annex: Annex, folder: Path, given: argparse.Namespace) -> str:
    """Return what fails in a clone without an annex, empty if nothing does."""
    output("git", "clone", "--quiet", "--shared", str(ROOT), str(folder))
    gone = sorted(remove(folder, annex))
    print(f"{name}: removed {', '.join(annex.parts)}; of its users {len(gone)}", flush=True)
    for path in gone:
        print(f"    {path}")
    unregister(folder / "pyproject.toml", annex)
    unregister_folders(folder / "Makefile", annex)
    if not installed(folder, annex.packages):
        return "cannot be installed"
    python = str(folder / ".venv/bin/python")
    if not runs(folder, python, "-c", IMPORT_ALL, *packages(folder)):
        return "a module of the core cannot be imported"
    selection = [test for test in FAST if (folder / test).exists()] if given.fast else []
    named = naming(folder, words_of(annex))
    print(f"{name}: {len(named)} other tests name it", flush=True)
    (folder / "left_out").write_text("".join(f"--deselect={test}\n" for test in named), encoding="utf-8")
    test = (python, "-m", "pytest", "-q", "-m", "not slow and not long and not whole", "@left_out")
    if not runs(folder, *test, "-n", given.processes, "--dist", "loadfile", *selection):
        return "tests of the core fail"
    if not (given.fast or given.no_run) and not runs(folder, *annex.run):
        return f"`{' '.join(annex.run)}` fails"
    return ""


def installed(folder: Path, without: Iterable[str]) -> bool:
    """Install a clone into an environment of its own, of links to the packages of this one without some.

    It takes a second, and modules come compiled.
    """
    venv.create(folder / ".venv", with_pip=False)
    (there,) = (folder / ".venv").glob("lib/python*/site-packages")
    there_too = {distribution.name for distribution in distributions()} & {"linkscore", *without}
    left_out = {path.parts[0] for name in there_too for path in files(name) or ()}
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if path.name not in left_out:
            (there / path.name).symlink_to(path)
    for tool in ("ruff", "buf"):
        (folder / ".venv/bin" / tool).symlink_to(Path(sys.executable).with_name(tool))
    (folder / ".venv/.installed").touch()
    uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    return runs(
        folder, uv, "pip", "install", "--quiet", "--python", str(folder / ".venv"), "--no-deps", "-e", "."
    )


def remove(folder: Path, annex: Annex) -> set[str]:
    """Delete an annex, its tests and what uses it; return the files of the latter."""
    for part in (*annex.parts, *annex.tests):
        path = folder / part
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    gone = [module_of(part) for part in (*annex.parts, *annex.tests)]
    removed: set[str] = set()
    while users := [path for path in candidates(folder) if uses(path, gone)]:
        for path in users:
            path.unlink()
            removed.add(str(path.relative_to(folder)))
            gone.append(module_of(str(path.relative_to(folder))))
    return removed


def candidates(folder: Path) -> Iterator[Path]:
    """Yield the modules that may use every annex."""
    for root in USERS:
        yield from (folder / root).rglob("*.py")


def uses(path: Path, gone: Iterable[str]) -> bool:
    """Say whether a module imports one that is gone, at its top."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return any(name == module or name.startswith(f"{module}.") for name in names for module in gone)


def module_of(path: str) -> str:
    """Return the name by which a file or folder is imported."""
    for root in (*SOURCES, "research"):
        if path.startswith(f"{root}/"):
            return path.removeprefix(f"{root}/").removesuffix(".py").replace("/", ".")
    if path in (*SOURCES, "research"):
        return f"linkscore_{path}"
    return path.removeprefix("tests/").removesuffix(".py").replace("/", ".")


def words_of(annex: Annex) -> re.Pattern[str]:
    """Return what finds the names of an annex in a text: as they are, and those of their parameters."""
    params = [f"{word.title().replace('_', '')}Params" for word in annex.words]
    return re.compile(rf"\b(?:{'|'.join((*annex.words, *params)) or '(?!)'})\b")


def naming(folder: Path, words: re.Pattern[str]) -> list[str]:
    """Return the tests that say one of some words, themselves or by a helper or fixture of theirs."""
    modules = {path: definitions(path) for path in (folder / "tests").rglob("*.py")}
    shared = {module_of(str(path.relative_to(folder))): own for path, own in modules.items()}
    found = []
    for path, own in modules.items():
        if not path.stem.startswith("test_"):
            continue
        known = own | imported(path, shared)
        for above in path.parents:
            known = modules.get(above / "conftest.py", {}) | known
        saying = {name for name, (text, _) in known.items() if words.search(text)}
        while more := {name for name, (_, used) in known.items() if used & saying} - saying:
            saying |= more
        found += [f"{path.relative_to(folder)}::{name}" for name in own if name in saying and "test_" in name]
    return found


def definitions(path: Path) -> dict[str, Definition]:
    """Return all that a module defines at its top, by name."""
    text = path.read_text(encoding="utf-8")
    lines, found = text.splitlines(), dict[str, Definition]()
    for node in ast.parse(text).body:
        first = min([node.lineno, *(part.lineno for part in getattr(node, "decorator_list", []))])
        inside = list(ast.walk(node))
        used = {part.id for part in inside if isinstance(part, ast.Name)}
        used |= {part.arg for part in inside if isinstance(part, ast.arg)}
        targets = [*getattr(node, "targets", []), *filter(None, [getattr(node, "target", None)])]
        names = {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
        for name in filter(None, {getattr(node, "name", ""), *names}):
            found[name] = "\n".join(lines[first - 1 : node.end_lineno]), used - {name}
    return found


def imported(path: Path, shared: dict[str, dict[str, Definition]]) -> dict[str, Definition]:
    """Return what a module imports from helpers of tests, and what those use of their own."""
    found = dict[str, Definition]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            own = shared.get(node.module, {})
            waiting = [alias.name for alias in node.names]
            while waiting:
                if (name := waiting.pop()) in own and name not in found:
                    found[name] = own[name]
                    waiting += own[name][1]
    return found


def unregister(project: Path, annex: Annex) -> None:
    """Take an annex out of pyproject.toml: entry points, extras, folders of packages."""
    text = project.read_text(encoding="utf-8")
    for extra in annex.extras:
        text = re.sub(rf"(?ms)^(# [^\n]*\n)*{extra} = \[.*?\]\n(?=\S|\n)", "", text)
        text = re.sub(rf"(linkscore\[[^]]*?)\b{extra}\b,?", r"\1", text).replace(",]", "]")
    for part in annex.parts:
        name = f"(?:{re.escape(part)}|{re.escape(module_of(part))})"
        text = re.sub(rf'(?m)^[\w-]+ = "{name}[.:][^\n]*\n', "", text)  # an entry point
        text = re.sub(rf'(?m)^"{name}\b[^"\n]*"(?:\.msg)? = [^\n]*\n', "", text)  # a rule of a linter
        text = re.sub(rf'"{name}(?:[./][^"\n]*)?"(?:, ?)?', "", text)
    project.write_text(re.sub(r"(?m)^ +\n", "", text).replace(", ]", "]"), encoding="utf-8")


def unregister_folders(makefile: Path, annex: Annex) -> None:
    """Take the folders of an annex out of those that are checked."""
    lines = makefile.read_text(encoding="utf-8").splitlines(keepends=True)
    for at, line in enumerate(lines):
        if line.startswith("SOURCES :="):
            lines[at] = " ".join(word for word in line.split() if word not in annex.parts) + "\n"
    makefile.write_text("".join(lines), encoding="utf-8")


def packages(folder: Path) -> list[str]:
    """Return the packages of a clone."""
    return sorted(
        path.parent.name for root in SOURCES for path in (folder / root).glob("linkscore*/__init__.py")
    )


def runs(folder: Path, *command: str) -> bool:
    """Run a command in a clone, of whose output the end is shown if it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        print(f"$ {' '.join(command[:6])} ...\n{done.stdout[-6_000:]}", flush=True)
    return done.returncode == 0


def output(*command: str) -> str:
    """Return what a command prints, run in this checkout."""
    return subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
