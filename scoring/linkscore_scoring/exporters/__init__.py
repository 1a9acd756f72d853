"""Rules of a site as files that crawlers load: one file per crawler, each with `NAME` and `export(site)`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from linkscore_scoring.errors import NotFound
from linkscore_scoring.exporters.base import Export


@cache
def exporters() -> dict[str, Export]:
    """Return every exporter by name."""
    loaded = (importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__))
    return {module.NAME: module.export for module in loaded if hasattr(module, "NAME")}


def exporter(name: str) -> Export:
    """Return an exporter.

    Raises
    ------
    NotFound
        If there is none of this name.
    """
    if name not in exporters():
        raise NotFound(f"rule format {name!r}: known are {', '.join(sorted(exporters()))}")
    return exporters()[name]
