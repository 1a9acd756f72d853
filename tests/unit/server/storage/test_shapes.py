"""What events and states are made of is committed beside their format number: a change raises the number.

After a change on purpose: raise the number in `storage/formats.py` (unless the version before reads what is
written now), add what reads the number before, and write the file anew with

    python tests/unit/server/storage/test_shapes.py
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import linkscore_scoring
from linkscore_scoring.engine.events import KINDS
from linkscore_scoring.features.types import Links, PageFeatures, PageLayout, PathTrie
from linkscore_scoring.state import Stateful
from linkscore_server.storage.formats import SEGMENT, SNAPSHOT, FileFormat

FOLDER = Path(__file__).parent / "shapes"


def events() -> list[str]:
    """Every kind of event with its number and its values in order, and what pages are made of."""
    kinds = [(f"{number} {kind.__name__}", kind) for number, kind in sorted(KINDS.items())]
    parts = [(part.__name__, part) for part in (PageFeatures, Links, PathTrie, PageLayout)]
    return [f"{name}.{field.name}: {field.type}" for name, kind in kinds + parts for field in fields(kind)]


def states() -> list[str]:
    """Every class whose state is declared, with what it keeps."""
    for module in pkgutil.walk_packages(linkscore_scoring.__path__, "linkscore_scoring."):
        importlib.import_module(module.name)
    return sorted(set(_kept(Stateful)))


def _kept(cls: type[Any]) -> Iterator[str]:
    for kind in cls.__subclasses__():
        # An example in a docstring that was run in this process may have made one that no module holds.
        is_held = getattr(sys.modules.get(kind.__module__), kind.__name__, None) is kind
        if is_held and kind.__module__.startswith("linkscore_scoring."):
            for name, hint in vars(kind).get("__annotations__", {}).items():
                if "Stored" in str(hint) or "stored_as" in str(hint):
                    yield f"{kind.__name__}.{name}: {hint}"
            yield from _kept(kind)


SHAPES = {"events": (SEGMENT, events), "states": (SNAPSHOT, states)}


def file_of(name: str, kind: FileFormat) -> Path:
    return FOLDER / f"{name}_{kind.number}.txt"


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_changes_only_with_its_number(name: str) -> None:
    kind, shape = SHAPES[name]
    assert shape() == file_of(name, kind).read_text().splitlines(), __doc__


if __name__ == "__main__":
    for each, (kind, shape) in SHAPES.items():
        file_of(each, kind).write_text("\n".join(shape()) + "\n")
