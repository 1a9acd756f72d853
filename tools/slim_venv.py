"""Take out of an environment what never runs, and compile what does: for the container image.

Run by the interpreter of the environment, after everything is installed; needs `strip`, of binutils.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import py_compile
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

# What compilers and type checkers read.
_SOURCES = {".a", ".c", ".cpp", ".f90", ".h", ".hpp", ".pxd", ".pxi", ".pyi", ".pyx"}


def main() -> None:
    """Make this environment small, and say how large it was and is."""
    site = Path(sysconfig.get_path("purelib"))
    before = megabytes(site)
    for tests in [folder for folder in site.rglob("tests") if folder.is_dir()]:
        shutil.rmtree(tests, ignore_errors=True)
    for path in [path for path in site.rglob("*") if path.suffix in _SOURCES]:
        path.unlink()
    strip(site)
    for path in used(site):
        # The hash is not looked at again: the files of an image do not change, their times may.
        py_compile.compile(
            str(path), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
        )
    print(f"{site}: {before} MB, now {megabytes(site)} MB")


def strip(site: Path) -> None:
    """Take symbols for debuggers off compiled modules.

    The libraries beside them (``numpy.libs``) were laid out anew by who made the wheel: strip breaks them.
    """
    modules = [str(path) for path in site.rglob("*.so") if not path.parent.name.endswith(".libs")]
    subprocess.run(["strip", "--strip-unneeded", *modules], check=True)


def used(site: Path) -> set[Path]:
    """Return the modules that linkscore has or imports anywhere, with all that those import."""
    own = [path for folder in site.glob("linkscore*") for path in folder.rglob("*.py")]
    for name in sorted({name for path in own for name in imports(path)}):
        if installed(name):
            importlib.import_module(name)
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    loaded = [Path(file) for file in files if file and file.endswith(".py")]
    return {*own, *(path for path in loaded if path.is_relative_to(site))}


def imports(path: Path) -> Iterator[str]:
    """Names of the modules of others that a module imports, in its functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if not alias.name.startswith("linkscore"))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.module.startswith("linkscore"):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def installed(name: str) -> bool:
    """Whether a name is that of a module, of the standard library or of an extra that is here."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def megabytes(folder: Path) -> int:
    """Return what the files of a folder take on disk, in MB."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(os.stat(path).st_blocks * 512 for path in paths) // 1_000_000


if __name__ == "__main__":
    main()
