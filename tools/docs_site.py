"""Hook of MkDocs: pages that lie elsewhere in the repository, decisions, and API pages, a room each.

A page of a package is `::: package`, so that the text comes from docstrings; which packages there are is read
from the folders, so that a new room has its page by itself.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
# Pages of the site that are written for the root of the repository.
ROOT_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
# One page a room; the other packages are small enough to be one page.
PACKAGES = {
    "linkscore_scoring": "scoring/linkscore_scoring",
    "linkscore": "clients/python/linkscore",
    "linkscore_server": "server/linkscore_server",
    "linkscore_lab": "lab/linkscore_lab",
}
# Generated code documents itself in proto/.
NO_PAGE = {"linkscore.v1"}
_LINK = re.compile(r"(!?)\[([^]]+)\]\(([^)\s]+)\)")  # a picture has the mark in front


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not files below docs/."""
    for source, target in ROOT_PAGES.items():
        add(files, config, target, (ROOT / source).read_text(encoding="utf-8"))
    add(files, config, "adr/index.md", decisions())
    pages = {name: f"api/{name}.md" for package in PACKAGES for name in rooms(package)}
    for name, target in pages.items():
        add(files, config, target, api_page(name))
    index = "\n".join(f"- [{name}]({name}.md)" for name in pages)
    add(files, config, "api/index.md", f"# API\n\nWhat the docstrings say, a page a room.\n\n{index}\n")
    return files


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the generated pages into the navigation."""
    for section in config.nav:
        if "API" in section:
            section["API"] += [
                {package: [{name: f"api/{name}.md"} for name in rooms(package)]} for package in PACKAGES
            ]
        for part in section.get("Work on it", []):
            if "Decisions" in part:
                part["Decisions"] = ["adr/index.md", *(f"adr/{path.name}" for path in decision_files())]
    return config


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links between the root of the repository and docs/ to pages; name files that are no page."""
    sources = {target: source for source, target in ROOT_PAGES.items()}
    home = posixpath.dirname(sources.get(page.file.src_uri, f"docs/{page.file.src_uri}"))

    def link(found: re.Match[str]) -> str:
        mark, text, address = found.groups()
        path, _, anchor = address.partition("#")
        if "://" in address or not path:
            return found[0]
        target = posixpath.normpath(posixpath.join(home, path))
        site_path = ROOT_PAGES.get(target) or target.removeprefix("docs/")
        if site_path == "adr":
            site_path = "adr/index.md"
        if target not in ROOT_PAGES and not target.startswith("docs/"):
            return f"{text} (`{target}`)" if target not in text else f"`{target}`"
        relative = posixpath.relpath(site_path, posixpath.dirname(page.file.src_uri) or ".")
        return f"{mark}[{text}]({relative}{'#' + anchor if anchor else ''})"

    return _LINK.sub(link, markdown)


def rooms(package: str) -> list[str]:
    """Return a package and the packages right below it, by name."""
    folder = ROOT / PACKAGES[package]
    below = [f"{package}.{path.parent.name}" for path in sorted(folder.glob("*/__init__.py"))]
    return [name for name in (package, *below) if name not in NO_PAGE]


def api_page(name: str) -> str:
    """Return the page of a room; the package itself shows only its own names and loose modules."""
    if name not in PACKAGES:
        return f"# {name}\n\n::: {name}\n"
    loose = sorted(path.stem for path in (ROOT / PACKAGES[name]).glob("[!_]*.py"))
    shown = "\n".join(f"::: {name}.{module}\n" for module in loose)
    return f"# {name}\n\n::: {name}\n    options:\n      show_submodules: false\n\n{shown}"


def decision_files() -> list[Path]:
    """Return the decisions, oldest first."""
    return sorted((ROOT / "docs/adr").glob("[0-9]*.md"))


def decisions() -> str:
    """Return the list of decisions: number and title of each."""
    titles = {path.name: path.read_text(encoding="utf-8").splitlines()[0] for path in decision_files()}
    rows = "\n".join(f"- [{title.removeprefix('# ')}]({name})" for name, title in titles.items())
    intro = "Decisions that are costly to undo: context, decision, consequences."
    return f"# Decisions\n\n{intro}\n\n{rows}\n"


def add(files: Files, config: MkDocsConfig, target: str, text: str) -> None:
    """Add a page made from text."""
    files.append(File.generated(config, target, content=text))
