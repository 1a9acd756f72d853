"""Write the tables of the docs that say what the code says; --check fails when one is stale.

Each table stands between two comments of its page, ``<!-- NAME: made by `make gen` -->`` and
``<!-- end of NAME -->``.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import Field, fields
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from google.rpc import code_pb2

from linkscore_scoring.engine.events import KINDS
from linkscore_scoring.policies.registry import builtin
from linkscore_server.crawls.memory import Space
from linkscore_server.crawls.registry import RegistryCollector
from linkscore_server.crawls.sites import MemoryBudget
from linkscore_server.front.workers import Supervisor
from linkscore_server.observability import Metrics
from linkscore_server.services.contract import RETRY_S, RPCS, STATUS_TABLE
from linkscore_server.settings import Settings

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PROTO = ROOT / "proto" / "linkscore" / "v1"
_NO_CRAWLS = SimpleNamespace(
    actors=list,
    crawl_count=0,
    damaged=(),
    memory=SimpleNamespace(budget=MemoryBudget()),
    space=Space(0, lambda: None),
)


def main() -> int:
    """Write, or compare; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    stale = []
    for name in PAGES:
        page = DOCS / name
        written = page.read_text(encoding="utf-8")
        fresh = with_tables(name, written)
        if not given.check:
            page.write_text(fresh, encoding="utf-8")
        elif written != fresh:
            stale.append(page)
    if stale:
        print(f"{', '.join(map(str, stale))}: tables are stale, run make gen", file=sys.stderr)
        return 1
    return 0


def with_tables(name: str, page: str) -> str:
    """Return the text of a page with what stands between the markers of each of its tables replaced.

    Raises
    ------
    ValueError
        If the markers of a table are not there exactly once.
    """
    for table, make in PAGES[name].items():
        marker = f"<!-- {table}: made by `make gen` -->\n"
        end = f"<!-- end of {table} -->"
        pattern = re.compile(re.escape(marker) + ".*?" + re.escape(end), re.DOTALL)
        made = marker + make() + end
        page, count = pattern.subn(lambda _, made=made: made, page)
        if count != 1:
            raise ValueError(f"{name}: markers of table {table!r} found {count} times, must be once")
    return page


def events_table() -> str:
    """Return one row per kind of event, by its number in the log."""
    rows = (
        (str(number), f"`{kind.__name__}`", first_paragraph(kind)) for number, kind in sorted(KINDS.items())
    )
    return _table(("Number", "Event", "What happened"), rows)


def errors_table() -> str:
    """Return one row per exception that a caller may see, with its status, reason and pause."""
    rows = (
        (
            f"`{kind.__name__}`",
            f"`{code_pb2.Code.Name(code)}`",
            f"`{reason}`",
            f"{getattr(kind, 'retry_s', RETRY_S[code]):g} s" if code in RETRY_S else "-",
            first_paragraph(kind) if kind is not OSError else "Something could not be made durable.",
        )
        for kind, code, reason in STATUS_TABLE
    )
    return _table(("Exception", "Status", "Reason", "Try again after", "When"), rows)


def reasons_table() -> str:
    """Return one row per reason of the contract, in its words."""
    text = (PROTO / "errors.proto").read_text(encoding="utf-8")
    rows = [
        (f"`{name.removeprefix('ERROR_REASON_')}`", *_status_and_meaning(comment))
        for name, comment in commented(text, r"(ERROR_REASON_\w+) = [1-9]\d*;")
    ]
    return _table(("Reason", "Status", "Meaning"), rows)


def policies_table() -> str:
    """Return one row per policy that comes with linkscore, by name."""
    rows = ((f"`{name}`", first_paragraph(policy)) for name, policy in sorted(builtin().items()))
    return _table(("Policy", "What it does"), rows)


def parameters_table(*policies: str) -> str:
    """Return one row per parameter of some policies, in the words of the contract."""
    text = (PROTO / "policy.proto").read_text(encoding="utf-8")
    rows = []
    for name, policy in ((name, builtin()[name]) for name in policies):
        defaults = {param.name: param.default for param in fields(policy.Params)}
        message = "".join(part.title() for part in name.split("_")) + "Params"
        body = re.search(rf"^message {message} {{(.*?)}}$", text, re.DOTALL | re.MULTILINE)
        if body is None:
            raise ValueError(f"policy.proto: no message {message}")
        for field, comment in commented(body[1], r"optional \w+ (\w+) = \d+;"):
            rows.append((f"`{name}`", f"`{field}`", _default(defaults[field]), comment))
    if not rows:
        return "None.\n"
    head = ("Policy", "Parameter", "Default", "Meaning and range")
    of_one = len(policies) == 1
    return _table(head[of_one:], [row[of_one:] for row in rows])


def settings_table() -> str:
    """Return a heading and a table for each group of settings."""
    groups: dict[str, list[Field[Any]]] = {}
    for each in fields(Settings):
        groups.setdefault(each.metadata["group"], []).append(each)
    return "".join(f"\n### {title}\n\n{_settings(group)}" for title, group in groups.items()) + "\n"


def _settings(group: Iterable[Any]) -> str:
    rows = ((f"`{s.name}`", _default(s.default), str(s.metadata["doc"])) for s in group)
    return _table(("Setting", "Default", "Meaning"), rows)


def rpcs_table() -> str:
    """Return one row per RPC: the least role of its caller, whether calls are written down, what it does."""
    said: dict[str, str] = {}
    for path in sorted(PROTO.glob("*_service.proto")):
        text = path.read_text(encoding="utf-8")
        service = re.search(r"^service (\w+)", text, re.MULTILINE)
        said |= {
            f"{service and service[1]}/{name}": comment.partition(". ")[0].rstrip(".")
            for name, comment in commented(text, r"rpc (\w+)\(.*")
        }
    rows = (
        (f"`{method}`", f"`{rpc.role.name.lower()}`", "yes" if rpc.is_told else "-", said[method])
        for method, rpc in RPCS.items()
    )
    return _table(("RPC", "Role", "Log line", "What it does"), rows)


def metrics_table() -> str:
    """Return one row per metric by name, with the suffix under which Prometheus shows it."""
    registries = (Metrics().registry, Supervisor(Settings()).registry)
    collectors: list[Any] = [each for registry in registries for each in registry._collector_to_names]
    described = [(family, c._labelnames) for c in collectors for family in c.describe()]
    counted = [(family, family._labelnames) for family in RegistryCollector(_NO_CRAWLS, Settings()).collect()]  # type: ignore[arg-type]
    rows = sorted(
        (f"`{_shown(family)}`", family.type, ", ".join(labels) or "-", family.documentation)
        for family, labels in [*described, *counted]
    )
    return _table(("Metric", "Kind", "Labels", "Meaning"), rows)


POLICY_PAGES = {
    **{name: (name,) for name in (*("harvest", "topic", "anthelion", "focus", "news_prefix"),)},
    "source": ("source_ucc", "source_target"),
    "behavior": ("behavior_fetch", "behavior_discovery"),
    "baselines": (
        *("breadth_first", "uniform_random", "keyword", "newest"),
        *("in_degree", "pagerank", "opic"),
    ),
}
"""Policies by the page that describes them."""

PAGES: dict[str, dict[str, Callable[[], str]]] = {
    "reference/policies/index.md": {"policies": policies_table},
    **{
        f"reference/policies/{page}.md": {"parameters": partial(parameters_table, *policies)}
        for page, policies in POLICY_PAGES.items()
    },
    "reference/errors.md": {"errors": errors_table, "reasons": reasons_table},
    "concepts/durability.md": {"events": events_table},
    "reference/metrics.md": {"metrics": metrics_table},
    "reference/settings.md": {"settings": settings_table},
    "reference/wire.md": {"rpcs": rpcs_table},
}
"""Tables by page, each with what makes it."""


def commented(text: str, declaration: str) -> Iterator[tuple[str, str]]:
    """Yield (name, comment) of every declaration of a proto file that fits, the comment as one line."""
    comment: list[str] = []
    for line in map(str.strip, text.splitlines()):
        if line.startswith("//"):
            comment.append(line.removeprefix("//").strip())
            continue
        if found := re.fullmatch(declaration, line):
            yield found[1], " ".join(comment)
        comment = []


def first_paragraph(documented: type) -> str:
    """Return the first paragraph of a docstring as one line; names of the code have one backtick."""
    paragraph = (inspect.getdoc(documented) or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).replace("``", "`")


def _status_and_meaning(comment: str) -> tuple[str, str]:
    status, _, meaning = comment.partition(": ")
    return f"`{status}`", meaning


def _shown(family: Any) -> str:
    return f"{family.name}_total" if family.type == "counter" else str(family.name)


def _default(value: object) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`" if value != "" else "empty"


def _cells(row: Iterable[str]) -> str:
    return " | ".join(cell.replace("|", "\\|") for cell in row)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {_cells(row)} |\n" for row in lines)


if __name__ == "__main__":
    sys.exit(main())
