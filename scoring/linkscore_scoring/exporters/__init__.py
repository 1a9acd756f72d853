"""Rules of a site as files that crawlers load: one module a format, each with `NAME` and `export(site)`.

A format is a file here and a value of `RuleFormat` in the contract. `allowed` says which URLs a file lets
pass, `portable` writes their expressions so that every engine reads them alike, `base` has what goes in and
out.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from linkscore_scoring.errors import NotFound
from linkscore_scoring.exporters.base import Export, RuleFile, SiteRules, TagPathRule

__all__ = ["Export", "RuleFile", "SiteRules", "TagPathRule", "exporter", "exporters"]


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
