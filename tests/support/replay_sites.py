"""Small stored sites for tests of the replay lab, written as WARC files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from linkscore_lab.archives import write_warc
from linkscore_lab.datasets.site import Reply

HTML = {"Content-Type": "text/html; charset=utf-8"}


def page(links: Sequence[str] = (), text: str = "") -> str:
    """Return an HTML page with a text and links."""
    anchors = "".join(f'<li><a href="{link}">to {link}</a></li>' for link in links)
    return f"<html><body><div><p>{text}</p></div><ul>{anchors}</ul></body></html>"


def write_site(
    path: Path, host: str, pages: Mapping[str, str], redirects: Mapping[str, str] | None = None
) -> Path:
    """Write pages by path, then redirects, as a WARC file."""
    answers = {url: Reply(200, HTML, body.encode()) for url, body in pages.items()}
    answers |= {url: Reply(302, HTML | {"Location": to}, b"") for url, to in (redirects or {}).items()}
    return write_warc(path, {f"http://{host}{url}": reply for url, reply in answers.items()})


def write_labels(path: Path, host: str, types: Mapping[str, str]) -> Path:
    """Write the page type of each path."""
    rows = "".join(f"http://{host}{url}\t{kind}\n" for url, kind in types.items())
    path.write_text("url\tpage_type\n" + rows, encoding="utf-8")
    return path


def shop(folder: Path, host: str = "shop.test", n: int = 12) -> tuple[Path, Path]:
    """Write a shop: an entry, two lists, `n` items in each, an about page; items are wanted."""
    lists = {f"/list/{k}": page([f"/item/{k}-{i}" for i in range(n)], f"list {k}") for k in (1, 2)}
    items = {
        f"/item/{k}-{i}": page(["/", "/about"], f"item {k}-{i} is described in a long text of its own " * 9)
        for k in (1, 2)
        for i in range(n)
    }
    pages = {
        "/": page(["/about", "/help", "/list/1", "/list/2"]),
        "/about": page(["/"], "about"),
        "/help": page(),
    }
    types = {url: url.split("/")[1] or "home" for url in (pages | lists | items)}
    warc = write_site(folder / f"{host}.warc.gz", host, pages | lists | items)
    return warc, write_labels(folder / f"{host}.labels.tsv", host, types)
