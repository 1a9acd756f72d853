"""Page clusterers, one a file, found by name: the default one, and every module of a folder beside it."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from importlib.resources import files

from linkscore_scoring import clustering
from linkscore_scoring.clustering.base import OUTLIER, Clusterer, Clustering, ClusterModel
from linkscore_scoring.clustering.cosine_linkage import CosineLinkage
from linkscore_scoring.errors import InvalidParams

DEFAULT = CosineLinkage.name


def _beside() -> Iterator[type[Clusterer]]:
    """Yield the clusterers of the folders of this package."""
    for folder in files(clustering).iterdir():
        if folder.joinpath("__init__.py").is_file():
            for name in sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".py")):
                module = importlib.import_module(f"{clustering.__name__}.{folder.name}.{name[:-3]}")
                for _, item in inspect.getmembers(module, inspect.isclass):
                    if item.__module__ == module.__name__ and issubclass(item, Clusterer):
                        yield item


_kinds: list[type[Clusterer]] = [CosineLinkage, *_beside()]
CLUSTERERS = {kind.name: kind for kind in _kinds}


def clusterer_named(name: str) -> type[Clusterer]:
    """Return the clusterer class of this name.

    Raises
    ------
    InvalidParams
        If no clusterer has the name.
    """
    if name not in CLUSTERERS:
        names = ", ".join(sorted(CLUSTERERS))
        raise InvalidParams(f"must be one of {names}, got {name!r}", field="clusterer")
    return CLUSTERERS[name]


__all__ = [
    "CLUSTERERS",
    "DEFAULT",
    "OUTLIER",
    "ClusterModel",
    "Clusterer",
    "Clustering",
    "clusterer_named",
]
