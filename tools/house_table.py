"""Measure how easy the house is to enter: lines a file, names, constants, state code; a column a checkout.

``tools/house_table.py`` measures this checkout, ``tools/house_table.py OLD NEW`` compares two of them. What a
call runs through is counted where a checkout has its ``.venv``.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from statistics import median, quantiles

from annexes import ANNEXES

ROOT = Path(__file__).parents[1]
SCORING = "scoring/linkscore_scoring"
SOURCES = (
    SCORING,
    "server/linkscore_server",
    "cli/linkscore_cli",
    "console/linkscore_console",
    "clients/python/linkscore",
    "lab/linkscore_lab",
)
# What a contributor must know, without GONE: what is left of it where every annex was deleted.
CORE = (
    SCORING,
    "native",
    "server/linkscore_server",
    "cli/linkscore_cli",
    "clients/python/linkscore",
    "lab/linkscore_lab/replay",
)
GONE = tuple(part for annex in ANNEXES.values() for part in annex.parts)
PRODUCT = ("scoring", "native", "server", "cli", "console", "clients", "frontier", "lab")
LANGUAGES = (".py", ".rs", ".go", ".ts", ".js", ".mjs", ".java")
# Tests, and what a generator writes.
NOT_PRODUCT = re.compile(
    r"/(v1|linkscorev1|gen|tests?|__tests__|static|dist)/|_pb2|linkscore/client\.py$|\.pb\.go$|_test\.|\.test\."
)
# The import of the compiled kernels, or a branch on whether they are there.
KERNELS = re.compile(r"\bimport linkscore_native\b|\bfrom linkscore_native\b|\b(?i:kernels) is\b")
# A body longer than this is counted as long: docs/development.md asks for "few over 30".
LONG_BODY = 30
STATE_FUNCTIONS = {"to_state", "load_state", "from_state"}
# Rooms whose values every module uses: knowing them is not part of understanding one policy.
COMMON = {"errors", "types", "state", "bounded"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Module:
    """One source file, parsed."""

    def __init__(self, path: Path, source: Path) -> None:
        self.path = path
        parts = path.relative_to(source).with_suffix("").parts
        self.is_package = parts[-1] == "__init__"
        self.name = ".".join(parts[:-1] if self.is_package else parts)
        self.text = path.read_text(encoding="utf-8")
        self.lines = self.text.splitlines()
        self.tree = ast.parse(self.text)

    @property
    def is_empty(self) -> bool:
        """An `__init__` that says nothing or a docstring only."""
        return self.is_package and all(is_text(node) for node in self.tree.body)

    @cached_property
    def docstring_lines(self) -> set[int]:
        """Numbers of lines that hold docstrings or strings below a name."""
        texts = (node for node in ast.walk(self.tree) if isinstance(node, ast.Expr) and is_text(node))
        return {line for node in texts for line in range(node.lineno, (node.end_lineno or 0) + 1)}

    @cached_property
    def comment_lines(self) -> set[int]:
        """Numbers of lines with a comment that is not an order to a tool."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        return {
            token.start[0]
            for token in tokens
            if token.type == tokenize.COMMENT and not re.match(r"#\s*(noqa|type:|pragma)", token.string)
        }

    @property
    def code_lines(self) -> int:
        """Lines that are neither empty, nor docstring, nor comment alone."""
        return sum(
            1
            for number, line in enumerate(self.lines, 1)
            if line.strip() and not line.lstrip().startswith("#") and number not in self.docstring_lines
        )

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Yield every function and method."""
        for node in ast.walk(self.tree):
            if isinstance(node, FUNCTIONS):
                yield node

    def imports(self) -> set[str]:
        """Return full names of modules and of what is imported from them."""
        found: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        return found


class House:
    """A checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        folders = [root / source for source in SOURCES]
        self.modules = [
            Module(path, folder.parent)
            for folder in folders
            for path in sorted(folder.rglob("*.py"))
            if "v1" not in path.parts
        ]
        self.scoring = [module for module in self.modules if module.path.is_relative_to(root / SCORING)]

    # -- figures, in the order of the table; each returns what stands in a cell ---------------------------

    def files(self) -> str:
        """Files of scoring that say something."""
        return str(sum(not module.is_empty for module in self.scoring))

    def file_lines(self) -> str:
        """Lines a file: median / p90 / longest; empty `__init__` left out."""
        lengths = [len(module.lines) for module in self.scoring if not module.is_empty]
        return f"{median(lengths):.0f} / {quantiles(lengths, n=10)[-1]:.0f} / {max(lengths)}"

    def long_bodies(self) -> str:
        """Share of functions whose body, docstring left out, is over 30 lines."""
        lengths = [body_length(function) for module in self.scoring for function in module.functions()]
        return f"{100 * sum(length > LONG_BODY for length in lengths) / len(lengths):.1f} %"

    def comments(self) -> str:
        """Comments by lines of code."""
        code = sum(module.code_lines for module in self.scoring)
        return f"{sum(len(module.comment_lines) for module in self.scoring) / code:.3f}"

    def examples(self) -> str:
        """Docstrings with a runnable example, of scoring and of the rest."""
        inside = sum(shown_examples(module) for module in self.scoring)
        return f"{inside} + {sum(map(shown_examples, self.modules)) - inside}"

    def packages(self) -> str:
        """Packages of scoring whose `__init__` has `__all__`, of how many."""
        packages = [module for module in self.scoring if module.is_package]
        return f"{sum('__all__' in module.text for module in packages)} of {len(packages)}"

    def imported_once(self) -> str:
        """Modules of scoring that exactly one other module of scoring imports, of how many."""
        names = {module.name for module in self.scoring if not module.is_package}
        uses = Counter(
            name
            for module in self.scoring
            if not module.is_package
            for name in module.imports() & names - {module.name}
        )
        return f"{sum(count == 1 for count in uses.values())} of {len(names)}"

    def bare_constants(self) -> str:
        """Numeric module constants of scoring without provenance, of how many."""
        found = [bare for module in self.scoring for _, bare in constants(module)]
        return f"{sum(found)} of {len(found)}"

    def state_lines(self) -> str:
        """State functions of scoring, and their lines, docstrings included."""
        lengths = [
            (function.end_lineno or 0) - function.lineno + 1
            for module in self.scoring
            for function in module.functions()
            if function.name in STATE_FUNCTIONS
        ]
        return f"{len(lengths)}, {sum(lengths)}"

    def repeated_classes(self) -> str:
        """Names of public and private classes that stand twice or more in the whole tree."""
        return str(len(self.repeated_class_names()))

    def harvest_files(self) -> str:
        """Files of harvest, and of what they import; and their lines."""
        files = self.harvest_modules()
        return f"{len(files)}, {sum(len(module.lines) for module in files):,}"

    def harvest_numbers(self) -> str:
        """Numbers behind harvest: those in its `Tunables` and parameters, and constants beside them."""
        own = [m for m in self.scoring if m.name.startswith("linkscore_scoring.policies.harvest")]
        fields, beside = sum(map(numeric_fields, own)), sum(len(list(constants(m))) for m in own)
        return f"{fields} + {beside}"

    def ingest_calls(self) -> str:
        """Functions and files that a page which comes alone runs through."""
        return self.calls.get("IngestPages", "-")

    def rank_calls(self) -> str:
        """Functions and files that a question about buckets runs through."""
        return self.calls.get("RankBuckets", "-")

    def kernel_modules(self) -> str:
        """Modules that ask whether the compiled kernels are there."""
        return str(sum(bool(KERNELS.search(module.text)) for module in self.modules))

    def widest_class(self) -> str:
        """Methods of the class that has most, properties included, and its name."""
        classes = [
            (sum(isinstance(item, FUNCTIONS) for item in node.body), node.name)
            for module in self.modules
            for node in ast.walk(module.tree)
            if isinstance(node, ast.ClassDef)
        ]
        return "{} ({})".format(*max(classes))

    def product_lines(self) -> str:
        """Lines of the product in every language, without tests and what is generated."""
        return f"{self.lines_of(PRODUCT):,}"

    def core_lines(self) -> str:
        """Lines of the core in every language, annexes left out."""
        return f"{self.lines_of(CORE, GONE):,}"

    # -- what figures are made of ------------------------------------------------------------------------

    @cached_property
    def calls(self) -> dict[str, str]:
        """What each kind of call runs through, counted by the checkout itself."""
        python = self.root / ".venv/bin/python"
        if not python.exists():
            return {}
        command = [str(python.absolute()), str(ROOT / "tools/count_calls.py")]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=True)
        return dict(line.split(": ") for line in done.stdout.splitlines())

    def lines_of(self, folders: Sequence[str], without: Sequence[str] = ()) -> int:
        """Return the lines of the source files below some folders."""
        files = self.files_of(folders, without)
        return sum(len((self.root / name).read_bytes().splitlines()) for name in files)

    def files_of(self, folders: Sequence[str], without: Sequence[str] = ()) -> list[str]:
        """Return the source files below some folders, by their path."""
        left_out = tuple(part if part.endswith(".py") else f"{part}/" for part in without)
        command = ["git", "ls-files", "--", *(folder for folder in folders if (self.root / folder).exists())]
        listed = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=True)
        return [
            name
            for name in listed.stdout.splitlines()
            if name.endswith(LANGUAGES) and not name.startswith(left_out) and not NOT_PRODUCT.search(name)
        ]

    def repeated_class_names(self) -> dict[str, list[str]]:
        """Return the modules of each class name that stands twice or more."""
        homes: dict[str, list[str]] = {}
        for module in self.modules:
            for node in ast.walk(module.tree):
                if isinstance(node, ast.ClassDef):
                    homes.setdefault(node.name, []).append(module.name)
        return {name: where for name, where in sorted(homes.items()) if len(where) > 1}

    def harvest_modules(self) -> list[Module]:
        """Return the modules of harvest and those they import directly, errors, types and state left out.

        Modules of harvest are those under its name, and those that only modules of harvest import.
        """
        imports = {module.name: module.imports() for module in self.scoring if not module.is_package}
        own = {name for name in imports if name.startswith("linkscore_scoring.policies.harvest")}
        while True:
            users = {name: {user for user in imports if name in imports[user]} for name in imports}
            more = {name for name in imports if users[name] and users[name] <= own} - own
            if not more:
                break
            own |= more
        direct = {name for mine in own for name in imports[mine] if name in imports}
        kept = {name for name in direct if name.split(".")[1] not in COMMON}
        return [module for module in self.scoring if module.name in own | kept and not module.is_package]


ROWS: dict[str, Callable[[House], str]] = {
    "files of scoring": House.files,
    "lines a file, median / p90 / max": House.file_lines,
    "function bodies over 30 lines": House.long_bodies,
    "`#` comments a line of code": House.comments,
    "docstrings with runnable examples, scoring + the rest": House.examples,
    "packages of scoring with `__all__`": House.packages,
    "modules imported by exactly one other": House.imported_once,
    "numeric module constants without provenance": House.bare_constants,
    "state functions, their lines": House.state_lines,
    "class names that stand twice or more (whole tree)": House.repeated_classes,
    "files to understand `harvest`, their lines": House.harvest_files,
    "numbers behind `harvest`: fields + constants": House.harvest_numbers,
    "one IngestPages, alone: functions / files": House.ingest_calls,
    "RankBuckets: functions / files": House.rank_calls,
    "modules that ask for kernels": House.kernel_modules,
    "widest class": House.widest_class,
    "product in all, lines": House.product_lines,
    "core, lines": House.core_lines,
}


def main() -> int:
    """Print the table; ``--list`` adds the constants, class names and files that it counts."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--list"]
    roots = [Path(argument) for argument in arguments] or [ROOT]
    houses = [House(root) for root in roots]
    print("| |", " | ".join(root.resolve().name for root in roots), "|")
    print("|---|", "---|" * len(roots), sep="")
    for title, figure in ROWS.items():
        print(f"| {title} |", " | ".join(figure(house) for house in houses), "|")
    if "--list" in sys.argv:
        show_lists(houses[-1])
    return 0


def show_lists(house: House) -> None:
    """Print what is still to mend in a checkout, and what harvest needs."""
    for module in house.scoring:
        bare = [name for name, is_bare in constants(module) if is_bare]
        if bare:
            print(f"constants without provenance: {module.name}: {', '.join(bare)}")
    for name, homes in house.repeated_class_names().items():
        print(f"class {name}: {', '.join(homes)}")
    for module in house.harvest_modules():
        print(f"harvest: {module.name} {len(module.lines)}")


def is_text(node: ast.AST) -> bool:
    """Say whether a statement is a string alone."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def body_length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function's body without its docstring."""
    body = [node for node in function.body if not is_text(node)]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def shown_examples(module: Module) -> int:
    """Return how many docstrings of a module hold a prompt."""
    documented = (ast.Module, ast.ClassDef, *FUNCTIONS)
    nodes = (node for node in ast.walk(module.tree) if isinstance(node, documented))
    return sum(">>> " in (ast.get_docstring(node) or "") for node in nodes)


def numeric_fields(module: Module) -> int:
    """Return how many fields of dataclasses have a number, or numbers, as default."""
    return sum(
        isinstance(field, ast.AnnAssign) and field.value is not None and is_numeric(field.value)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Tunables", "Params"))
        for field in node.body
    )


def constants(module: Module) -> Iterator[tuple[str, bool]]:
    """Yield the numeric constants at the top of a module, and whether nothing says what they are.

    Provenance is a comment on the line or right above it (above the first of several lines that follow each
    other counts for the first only), or a string right below.
    """
    body = module.tree.body
    for at, node in enumerate(body):
        names = assigned_names(node)
        value = getattr(node, "value", None)
        if not names or value is None or not is_numeric(value):
            continue
        lines = {node.lineno - 1, *range(node.lineno, (node.end_lineno or 0) + 1)}
        told = bool(lines & module.comment_lines) or (at + 1 < len(body) and is_text(body[at + 1]))
        yield from ((name, not told) for name in names)


def assigned_names(node: ast.stmt) -> list[str]:
    """Return the names in capitals that a statement at the top of a module sets."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if not isinstance(node, ast.Assign | ast.AnnAssign):
        return []
    names = [
        name.id for target in targets if target for name in ast.walk(target) if isinstance(name, ast.Name)
    ]
    return [name for name in names if name.upper() == name and name.strip("_")]


def is_numeric(value: ast.expr) -> bool:
    """Say whether an expression is numbers and nothing but: 3, -1.5, 2**16, (1, 2), 1 << 20, [.1, .2]."""
    allowed = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Tuple, ast.List, ast.operator, ast.unaryop, ast.Load)
    nodes = list(ast.walk(value))
    numbers = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return (
        bool(numbers)
        and all(isinstance(node, allowed) for node in nodes)
        and all(isinstance(number, int | float) and not isinstance(number, bool) for number in numbers)
    )


if __name__ == "__main__":
    sys.exit(main())
