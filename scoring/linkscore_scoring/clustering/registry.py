"""Page clusterers by name: the default one, and what research adds to compare with."""

from __future__ import annotations

from linkscore_scoring.clustering.base import Clusterer
from linkscore_scoring.clustering.cosine_linkage import CosineLinkage
from linkscore_scoring.errors import InvalidParams

DEFAULT = CosineLinkage.name
CLUSTERERS: dict[str, type[Clusterer]] = {DEFAULT: CosineLinkage}


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
