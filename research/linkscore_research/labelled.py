"""Folders of labelled sites: their archives, what their page types are good for, and templates of those."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from linkscore_lab.datasets.site import read_table


@dataclass(frozen=True, slots=True)
class SitePageType:
    """What a page type of one site is good for; `kind` is ENTRY, INDEX, THREAD, OTHER or empty."""

    name: str
    user_content: bool
    target: bool
    kind: str = ""


def read_page_types(path: Path) -> dict[str, list[SitePageType]]:
    """Return the page types of each site named in `path`; raises `InvalidInput` as `read_table`."""
    types: dict[str, list[SitePageType]] = {}
    for row in read_table(path, ("site", "page_type", "user_content", "target"), field="labels"):
        good_for = row["user_content"] == "1", row["target"] == "1"
        kind = SitePageType(row["page_type"], *good_for, row.get("kind", ""))
        types.setdefault(row["site"], []).append(kind)
    return types


def archive_in(folder: Path, name: str) -> Path | None:
    """Return the archive of a site in a folder of labelled sites, None if it has none."""
    paths = (folder / f"{name}.warc{ending}" for ending in (".gz", ".zst"))
    return next((path for path in paths if path.is_file()), None)


def read_templates(path: Path) -> dict[str, dict[str, str]]:
    """Return the template of each page type of each site; raises `InvalidInput` as `read_table`."""
    templates: dict[str, dict[str, str]] = {}
    for row in read_table(path, ("site", "page_type", "template"), field="labels"):
        templates.setdefault(row["site"], {})[row["page_type"]] = row["template"]
    return templates
