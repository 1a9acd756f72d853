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
from dataclasses import dataclass
from importlib.metadata import distributions, files
from pathlib import Path

ROOT = Path(__file__).parents[1]
SCORING, SERVER, POLICIES = (
    "scoring/linkscore_scoring",
    "server/linkscore_server",
    "scoring/linkscore_scoring/policies",
)
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


MEMBERS = f"{SERVER}/members"
MEMBER_TESTS = ("tests/unit/server/members", "tests/kafka/test_members.py")
CLUSTER_TESTS = (
    *("tests/unit/server/cluster", "tests/simulation", "tests/kafka", "tests/support/cluster"),
    *MEMBER_TESTS,
)
OBJECT_TESTS = ("tests/unit/server/objects", "tests/support/objects", "tests/kafka/test_objects.py")
LEARNERS = f"{SCORING}/learners/classifiers"
PYTHON = "clients/python/linkscore"
REGROUP_ON_BROKERS = "tests/unit/server/regroup/test_regroup_on_brokers.py"
REVISITS_OF_GROUPS = "tests/integration/test_revisits_of_groups.py"
WORKER_TESTS = ("tests/unit/server/workers", "tests/integration/test_workers.py", REVISITS_OF_GROUPS)

Definition = tuple[str, set[str]]
"""Source of a definition, and the names that it uses."""


@dataclass(frozen=True)
class Annex:
    """What can be taken away.

    Attributes
    ----------
    says
        What it is, one line.
    parts
        Files and folders of it.
    tests
        Files and folders of its tests and of what these share, beside modules that import a part.
    words
        Names that tests of others ask for it by, as policies: each test that says one goes too.
    extras
        Extras of pyproject.toml that are its own.
    packages
        Distributions that nothing else needs: they are uninstalled too.
    run
        What is run, instead of `make run`, where the annex itself is what that runs.
    """

    says: str
    parts: tuple[str, ...]
    tests: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    run: tuple[str, ...] = ("make", "--silent", "run")


ANNEXES = {
    "go": Annex(
        "the client and the plugin of Colly, in Go",
        ("clients/go", "examples/colly", "examples/own/go"),
        ("tests/integration/test_client_conformance.py",),
    ),
    "node": Annex(
        "the client and the plugin of Crawlee, in TypeScript",
        ("clients/node", "examples/crawlee", "examples/own/node"),
        ("tests/integration/test_client_conformance.py",),
    ),
    "java": Annex(
        "the client and plugins of Nutch, StormCrawler and Heritrix, in Java",
        ("clients/java",),
        ("tests/integration/test_client_conformance.py", "tests/integration/test_jvm_crawls.py"),
    ),
    "frontier": Annex(
        "a URL Frontier server, whose order linkscore gives",
        ("frontier", "lab/linkscore_lab/experiments/frontier_crawler.py"),
        ("tests/unit/frontier", "tests/support/frontier"),
        extras=("frontier",),
    ),
    "console": Annex(
        "a web page that shows crawls",
        ("console",),
        (
            *("tests/unit/console", "tests/support/console", "tests/browser"),
            "tests/integration/test_demo_watch.py",
        ),
        extras=("console",),
        packages=("starlette", "uvicorn", "jinja2"),
    ),
    "json_port": Annex(
        "calls as JSON over HTTP, at a port of their own",
        (f"{SERVER}/json_port", "tools/openapi.py"),
        ("tests/unit/server/json_port", "tests/integration/test_json_port.py"),
        words=("json_listen", "json_port"),
        extras=("http",),
    ),
    "agents": Annex(
        "tools for agents: `linkscore mcp`",
        ("cli/linkscore_cli/agents",),
        ("tests/unit/agents", "tests/integration/test_mcp_agent.py"),
        extras=("mcp",),
        packages=("mcp",),
    ),
    "tables": Annex(
        "a crawl as Parquet files: `linkscore export-tables`",
        (f"{SERVER}/tables",),
        ("tests/integration/test_tables.py",),
        words=("export-tables",),
        extras=("tables",),
        packages=("duckdb",),
    ),
    "research": Annex(
        "experiments, tuning and their notebook",
        ("research",),
        ("tests/research",),
    ),
    "exporters": Annex(
        "rules of a site as files that crawlers load",
        (
            f"{SCORING}/exporters",
            f"{SCORING}/testing/exporters.py",
            "server/linkscore_server/rule_files.py",
            "cli/linkscore_cli/rules.py",
        ),
        ("tests/unit/exporters", "tests/support/exporters", "tests/contract/test_contract_rules.py"),
        words=("sites.ExportRules", "client.export_rules", "export-rules"),
    ),
    "limits": Annex(
        "budgets: crawls that stop by themselves, and caps on traps",
        (f"{SCORING}/limits",),
        (
            "tests/unit/limits",
            "tests/contract/test_contract_budget.py",
            "tests/integration/test_scrapy_budget.py",
        ),
        words=("budget=", "max_fetches"),
    ),
    "respect": Annex(
        "what sites reserve: links of theirs are to skip in crawls that respect it",
        (f"{SCORING}/respect",),
        (
            *("tests/unit/respect", "tests/property/test_respect_property.py"),
            *("tests/contract/test_contract_respect.py", "tests/integration/test_scrapy_respect.py"),
        ),
        words=("tdm", "ai-train"),
    ),
    "copies": Annex(
        "links to copies of pages, known before the fetch",
        (f"{SCORING}/copies",),
        (
            *("tests/unit/copies", "tests/property/test_copies_property.py"),
            "tests/contract/test_contract_copies.py",
        ),
        words=("copies=", '"copies"'),
    ),
    "clusterers": Annex(
        "clusterers beside the default one: DBSCAN, Crescenzi, UXClust, regions of iRobot",
        (f"{SCORING}/clustering/others",),
        ("tests/contract/test_contract_clusterers.py",),
        words=tuple(
            word
            for name in ("dbscan", "crescenzi_mdl", "uxclust", "irobot_regions")
            for word in (name, f"CLUSTERER_{name.upper()}")
        ),
    ),
    "native": Annex(
        "the compiled kernels, in Rust: the pure ones give the same",
        ("native",),
        ("tests/unit/features/test_native.py", "tests/unit/clustering/test_template_space.py"),
        extras=("native",),
        packages=("linkscore-native",),
    ),
    "crawlee": Annex(
        "Crawlee for Python and Crawl4AI, and the session and frontier that they share",
        (
            *(f"{PYTHON}/{name}.py" for name in ("crawlee", "crawl4ai", "session", "frontier")),
            *("examples/crawl4ai", "examples/own/crawl.py"),
        ),
        ("tests/crawlers", "tests/support/crawlee"),
        extras=("crawlee", "crawl4ai"),
    ),
    "crawlers": Annex(
        "all crawlers in Python: Scrapy too, the lab's crawls with it, URL Frontier, what adapters share",
        (
            f"{PYTHON}/scrapy",
            *(
                f"{PYTHON}/{name}.py"
                for name in ("crawlee", "crawl4ai", "session", "frontier", "connection", "outages")
            ),
            *(f"{PYTHON}/{name}.py" for name in ("allotment", "allowance", "breaker")),
            *("frontier", "lab/linkscore_lab/crawls", "lab/linkscore_lab/experiments"),
            *("examples/scrapy", "examples/crawl4ai", "examples/own/crawl.py"),
        ),
        (
            *("tests/unit/scrapy", "tests/crawlers", "tests/unit/frontier", "tests/browser"),
            *(f"tests/support/{name}" for name in ("crawlers", "crawlee", "frontier")),
            "tests/integration/test_jvm_crawls.py",
            *(f"tests/integration/test_scrapy_{name}.py" for name in ("budget", "respect", "crawl", "notes")),
            *(f"tests/integration/test_scrapy_{name}.py" for name in ("rules", "starts", "listings")),
        ),
        extras=("scrapy", "crawlee", "crawl4ai", "frontier"),
        packages=("scrapy",),
        run=(".venv/bin/python", "-m", "pytest", "-q", "tests/integration/test_replay_target.py"),
    ),
    "classifiers": Annex(
        "online classifiers of links, and the policies anthelion and tag_path_bandit that learn with them",
        (
            *(LEARNERS, f"{SCORING}/testing/classifiers.py"),
            *(f"{POLICIES}/anthelion", f"{POLICIES}/tag_path_bandit"),
        ),
        (
            *("tests/unit/learners/classifiers", "tests/conformance/test_classifiers_conform.py"),
            *("tests/unit/policies/anthelion", "tests/unit/policies/tag_path_bandit"),
        ),
        words=("anthelion", "tag_path_bandit"),
        packages=("river",),
    ),
    "kafka": Annex(
        "logs on Kafka, and the clusters that share them",
        (f"{SERVER}/storage/kafka", f"{SERVER}/cluster", MEMBERS, f"{SERVER}/objects"),
        (
            *("tests/unit/server/storage/kafka", "tests/support/kafka", REGROUP_ON_BROKERS),
            *CLUSTER_TESTS,
            *OBJECT_TESTS,
        ),
        extras=("kafka", "objects"),
        packages=("confluent-kafka", "obstore"),
    ),
    "objects": Annex(
        "snapshots and copies of crawls in object storage",
        (f"{SERVER}/objects",),
        OBJECT_TESTS,
        extras=("objects",),
        packages=("obstore",),
    ),
    "cluster": Annex("one server on several machines", (f"{SERVER}/cluster", MEMBERS), CLUSTER_TESTS),
    "members": Annex("servers of a cluster as workers of one machine", (MEMBERS,), MEMBER_TESTS),
    "regroup": Annex(
        "crawls of one group divided into several: `linkscore data regroup`",
        (f"{SERVER}/regroup",),
        (
            *("tests/unit/server/regroup", "tests/integration/test_regroup.py"),
            *("tests/kafka/test_kafka_regroup.py", REVISITS_OF_GROUPS),
        ),
    ),
    "workers": Annex(
        "one server of several processes on a machine",
        (f"{SERVER}/workers", MEMBERS),
        (*WORKER_TESTS, *MEMBER_TESTS),
    ),
    "routing": Annex(
        "crawls of several groups, and the workers and clusters that they are spread over",
        (f"{SERVER}/routing", f"{SERVER}/workers", f"{SERVER}/cluster", MEMBERS, f"{SERVER}/regroup"),
        (
            *("tests/unit/server/routing", "tests/unit/server/regroup"),
            *("tests/integration/test_groups.py", "tests/integration/test_regroup.py"),
            *CLUSTER_TESTS,
            *WORKER_TESTS,
        ),
        words=("groups=",),
    ),
    "browse_logs": Annex(
        "browse logs: their import, what is mined of them, and the policies that go by them",
        (
            f"{SERVER}/browse_logs",
            f"{SCORING}/browse_logs",
            f"{POLICIES}/browse_log",
            "lab/linkscore_lab/browse_logs",
            "cli/linkscore_cli/logs.py",
        ),
        (
            *("tests/unit/policies/browse_log", "tests/unit/server/browse_logs", "tests/unit/browse_logs"),
            *("tests/integration/test_browse_crash.py", "tests/integration/test_logs_command.py"),
            *("tests/support/browse_logs", "tests/kafka/test_browse_logs.py"),
            *("tests/contract/test_contract_browse.py", "tests/contract/test_contract_behavior.py"),
        ),
        words=("news_prefix", "behavior_fetch", "behavior_discovery", "server.browse", "BrowseLogService"),
        extras=("logs",),
        packages=("duckdb",),
    ),
    "revisits": Annex(
        "when to fetch pages again, and schedules replayed against histories of sites",
        (
            *(f"{SCORING}/revisits", "lab/linkscore_lab/revisits"),
            *("server/linkscore_server/revisits", "cli/linkscore_cli/revisits.py"),
        ),
        (
            *("tests/unit/revisits", "tests/contract/test_contract_revisits.py", REVISITS_OF_GROUPS),
            "tests/integration/test_scrapy_due_listings.py",
        ),
    ),
    **{
        name: Annex(
            f"policies {', '.join(policies)}" if policies[1:] else f"policy {name}",
            (f"{POLICIES}/{name}", *more),
            (f"tests/unit/policies/{name}", f"tests/support/{name}"),
            words=policies,
        )
        for name, policies, *more in (
            ("auto", ("auto",)),
            ("source", ("source_ucc", "source_target")),
            ("tpm", ("tpm",)),
            ("irobot", ("irobot",)),
            ("anthelion", ("anthelion",)),
            ("tag_path_bandit", ("tag_path_bandit",)),
            ("focus", ("focus",)),
            ("experiment", ("experiment",), "lab/linkscore_lab/live"),
            (
                "link_graph",
                ("in_degree", "pagerank", "opic", "rank_mass", "fractional_pagerank"),
                f"{SCORING}/graph",
            ),
        )
    },
}


STANDS_WITHOUT = (
    *("auto", "source", "tpm", "irobot", "anthelion", "tag_path_bandit", "focus", "link_graph"),
    *("experiment", "exporters", "clusterers", "go", "node", "java", "console", "json_port", "agents"),
    "tables",
    *("frontier", "research", "native"),
    *("crawlee", "crawlers", "classifiers", "kafka", "cluster", "members", "workers", "routing"),
    *("browse_logs", "regroup", "objects"),
    *("revisits", "limits", "respect", "copies"),
)
"""Annexes without which the core stands; CI takes them in turn, with ``--fast``. All but ``crawlers``,
deleted at once, passed whole: all tests of the core, and ``make run``."""


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
