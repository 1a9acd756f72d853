"""Make a release: check its notes, build it, try each package from an index of its own, tag it.

`dist/` then has the Python packages, and beside them `npm/`, `go/` in the layout of a module proxy, and
`maven/`, a repository; clients whose tools are not there are left out by name. Without the tag it is a
rehearsal, and the notes need no date. Nothing leaves this machine: pushing the tag and uploading `dist/` are
the maintainers' last steps.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
# Files that name the version beside pyproject.toml.
ALSO_NAMED_IN = (
    "deploy/kubernetes-sidecar.yaml",
    "deploy/helm/linkscore/Chart.yaml",
    "deploy/kustomize/base/linkscore.yaml",
)
# A user of the sdist must be able to read, build and test it.
IN_SDIST = ("LICENSE", "README.md", "CHANGELOG.md", "Makefile", "requirements/dev.lock", "tests/conftest.py")


class NotReady(Exception):
    """The tree is not a release: the message says what to change."""


def main() -> int:
    """Run all steps; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-tag", action="store_true", help="stop before the tag")
    given = parser.parse_args()
    try:
        version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
        changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        notes = section_of(changelog, version, is_dated=not given.no_tag)
        check_named(version)
        check_tree(version)
        build()
        check_sdist(version)
        try_from_index(version)
        for tool, release_client in (("npm", release_npm), ("go", release_go), ("mvn", release_maven)):
            if shutil.which(tool):
                release_client(version)
            else:
                print(f"release: no {tool}: its client is left out")
        if not given.no_tag:
            run(
                "git",
                "tag",
                "-a",
                f"v{version}",
                "--cleanup=whitespace",
                "-m",
                f"linkscore {version}\n\n{notes}",
            )
    except NotReady as reason:
        print(f"release: {reason}", file=sys.stderr)
        return 1
    print(f"linkscore {version} is in dist/" + ("" if given.no_tag else f" and tagged v{version}"))
    return 0


def section_of(changelog: str, version: str, *, is_dated: bool = True) -> str:
    """Return the text of a version's section of the changelog.

    Raises
    ------
    NotReady
        If the section is missing, has no date (YYYY-MM-DD) but needs one, has no entry, or is not the first.
    """
    found = re.findall(r"^## (\S+) - (.+)\n((?:(?!## ).*\n?)*)", changelog, re.MULTILINE)
    if not found or found[0][0] != version:
        raise NotReady(f"CHANGELOG.md: the first section must be of version {version}")
    _, date, text = found[0]
    if is_dated and not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        raise NotReady(f"CHANGELOG.md: section {version} must have a date like 2026-01-31, got {date!r}")
    if "\n- " not in f"\n{text}":
        raise NotReady(f"CHANGELOG.md: section {version} has no entry")
    return str(text).strip()


def check_named(version: str) -> None:
    """Refuse a version that is not the one deployments name."""
    for name in ALSO_NAMED_IN:
        if version not in (ROOT / name).read_text(encoding="utf-8"):
            raise NotReady(f"{name} does not name version {version}")


def check_tree(version: str) -> None:
    """Refuse uncommitted work, and a version that is released already."""
    if output("git", "status", "--porcelain"):
        raise NotReady("there is uncommitted work, see git status")
    if output("git", "tag", "--list", f"v{version}"):
        raise NotReady(f"tag v{version} is there already")


def build() -> None:
    """Build the source distribution, the wheel from it, and let twine read both."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(DIST))
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, sorted(DIST.iterdir())))


def check_sdist(version: str) -> None:
    """Refuse a source distribution that cannot be tested."""
    with tarfile.open(DIST / f"linkscore-{version}.tar.gz") as archive:
        names = set(archive.getnames())
    missing = [name for name in IN_SDIST if f"linkscore-{version}/{name}" not in names]
    if missing:
        raise NotReady(f"the source distribution lacks {', '.join(missing)}")


def try_from_index(version: str) -> None:
    """Install the wheel from a package index on loopback, and run what it installs."""
    with tempfile.TemporaryDirectory() as folder, index(Path(folder)) as address:
        target = Path(folder) / "installed"
        options = ["--disable-pip-version-check", "--quiet", "--no-deps", "--index-url", address]
        run(
            sys.executable, "-m", "pip", "install", *options, "--target", str(target), f"linkscore=={version}"
        )
        # The dependencies are those of the development environment; the packages must be the ones just built.
        packages = (
            "linkscore",
            "linkscore_scoring",
            "linkscore_server",
            "linkscore_cli",
            "linkscore_console",
            "linkscore_lab",
        )
        code = "".join(
            f"import {p}; assert {p}.__file__.startswith({str(target)!r}), {p}\n" for p in packages
        )
        environment = os.environ | {"PYTHONPATH": str(target)}
        python = str(ROOT / ".venv/bin/python")
        run(python, "-c", code, cwd=folder, env=environment)
        run(python, "-m", "linkscore_cli", "--help", cwd=folder, env=environment)


def release_npm(version: str) -> None:
    """Pack the client of Node, and import it in a project that installs the package."""
    client, packed = ROOT / "clients/node", DIST / "npm"
    packed.mkdir()
    run("npm", "ci", "--silent", cwd=client)
    run("npm", "run", "--silent", "build", cwd=client)
    run("npm", "pack", "--silent", "--pack-destination", str(packed), cwd=client)
    with tempfile.TemporaryDirectory() as folder:
        run("npm", "init", "--yes", cwd=folder)
        run("npm", "install", "--silent", str(packed / f"linkscore-{version}.tgz"), cwd=folder)
        run(
            "node",
            "-e",
            "import('linkscore').then(({ Client, Session }) => new Client().close())",
            cwd=folder,
        )


# Modules of Go, each with its folder; a folder of another module is no part of it.
GO_MODULES = {"linkscore.example/go": "clients/go", "linkscore.example/go/colly": "clients/go/colly"}


def release_go(version: str) -> None:
    """Lay the modules of Go out as a proxy serves them, and build a program that gets them from there."""
    proxy = DIST / "go"
    for module, folder in GO_MODULES.items():
        files = proxy / module / "@v"
        files.mkdir(parents=True)
        (files / "list").write_text(f"v{version}\n")
        (files / f"v{version}.info").write_text(json.dumps({"Version": f"v{version}"}))
        shutil.copy(ROOT / folder / "go.mod", files / f"v{version}.mod")
        others = [other for other in GO_MODULES.values() if other.startswith(f"{folder}/")]
        with zipfile.ZipFile(files / f"v{version}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name in output("git", "ls-files", folder).splitlines():
                if not any(name.startswith(f"{other}/") for other in others):
                    archive.write(ROOT / name, f"{module}@v{version}/{name.removeprefix(f'{folder}/')}")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program"
        program.mkdir()
        (program / "main.go").write_text(
            "package main\n\n"
            'import (\n\t"linkscore.example/go"\n\tlinkscolly "linkscore.example/go/colly"\n)\n\n'
            "func main() {\n\t_, _ = linkscore.New, linkscolly.NewQueue\n}\n"
        )
        proxies = f"{proxy.as_uri()},{output('go', 'env', 'GOPROXY')}"
        cache = {"GOMODCACHE": f"{folder}/cache", "GOFLAGS": "-modcacherw"}
        environment = os.environ | cache | {"GOPROXY": proxies, "GONOSUMDB": "linkscore.example"}
        run("go", "mod", "init", "example.com/try", cwd=program, env=environment)
        run("go", "get", *(f"{module}@v{version}" for module in GO_MODULES), cwd=program, env=environment)
        run("go", "mod", "tidy", cwd=program, env=environment)
        run("go", "build", "-o", "program", ".", cwd=program, env=environment)


def release_maven(version: str) -> None:
    """Deploy the jars into a repository that is a folder, and resolve the client from it alone."""
    repository = (DIST / "maven").as_uri()
    quiet = ("mvn", "--batch-mode", "--quiet")
    deploy = (*quiet, "deploy", "-DskipTests", f"-DaltDeploymentRepository=dist::default::{repository}")
    run(*deploy, cwd=ROOT / "clients/java")
    with tempfile.TemporaryDirectory() as folder:
        get = ("dependency:get", f"-Dartifact=example.linkscore:linkscore-client:{version}")
        where = (f"-DremoteRepositories=dist::::{repository}", f"-Dmaven.repo.local={folder}/repository")
        run(*quiet, *get, *where, cwd=folder)


@contextmanager
def index(folder: Path) -> Iterator[str]:
    """Serve `dist` as a simple package index; yield its address."""
    simple = folder / "index/simple/linkscore"
    simple.mkdir(parents=True)
    for path in DIST.iterdir():
        shutil.copy(path, simple)
    handler = functools.partial(Silent, directory=str(folder / "index"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple"
    finally:
        server.shutdown()
        server.server_close()


class Silent(http.server.SimpleHTTPRequestHandler):
    """Serves a folder and says nothing; the listing of a folder is what pip reads."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def run(*command: str, cwd: str | Path = ROOT, env: dict[str, str] | None = None) -> None:
    """Run a command.

    Raises
    ------
    NotReady
        If it fails.
    """
    print("release:", " ".join(command[:4]).splitlines()[0], flush=True)
    if subprocess.run(command, check=False, cwd=cwd, env=env, stdout=subprocess.DEVNULL).returncode:
        raise NotReady(f"failed: {' '.join(command)}")


def output(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
