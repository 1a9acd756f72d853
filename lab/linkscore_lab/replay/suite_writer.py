"""The suite of a folder of labelled sites: NAME.warc.gz, NAME.labels.tsv.gz and page_types.tsv."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from linkscore_lab.datasets.labels import PageType, read_page_types
from linkscore_scoring.errors import InvalidInput

_HEAD = """\
# Sites of {folder}, written from its page_types.tsv: `linkscore replay --suite THIS-FILE`
policies = {policies}
budget = "25%"
seeds = 5
tasks = ["user_content", "target"]
modes = ["none"]
"""


def suite_text(folder: Path, policies: Sequence[str], sites: Sequence[str] = (), *, relative_to: Path) -> str:
    """Return the suite of the sites of a folder that have user content, or of those named.

    Parameters
    ----------
    relative_to
        Folder of the file the text is for: paths in it are relative to that.

    Raises
    ------
    InvalidInput
        If the folder has no ``page_types.tsv``, or a named site is not in it.
    """
    table = folder / "page_types.tsv"
    if not table.is_file():
        raise InvalidInput(f"{folder}: must hold page_types.tsv", field="folder")
    known = {name: kinds for name, kinds in read_page_types(table).items() if _warc(folder, name).is_file()}
    missing = sorted(set(sites) - known.keys())
    if missing:
        raise InvalidInput(
            f"{folder}: has no {', '.join(missing)}; there are {', '.join(known)}", field="site"
        )
    chosen = sites or [name for name, kinds in known.items() if any(kind.target for kind in kinds)]
    where = os.path.relpath(folder, relative_to)
    head = _HEAD.format(folder=where, policies=json.dumps(list(policies)))
    return head + "".join(_site(where, name, known[name]) for name in chosen)


def _warc(folder: Path, name: str) -> Path:
    return folder / f"{name}.warc.gz"


def _site(where: str, name: str, kinds: Iterable[PageType]) -> str:
    kinds = list(kinds)
    lines = [
        "\n[[site]]",
        f"warc = {json.dumps(f'{where}/{name}.warc.gz')}",
        f"labels = {json.dumps(f'{where}/{name}.labels.tsv.gz')}",
        f"relevant = {json.dumps([kind.name for kind in kinds if kind.user_content])}",
        f"targets = {json.dumps([kind.name for kind in kinds if kind.target])}",
        "[site.kinds]",
        *(f"{json.dumps(kind.name)} = {json.dumps(kind.kind)}" for kind in kinds if kind.kind),
    ]
    return "\n".join(lines) + "\n"
