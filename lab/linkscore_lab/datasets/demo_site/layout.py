"""The frame every page of the demonstration site shares, and the small pieces several templates use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from urllib.parse import urlencode

from linkscore_lab.datasets.demo_site.world import TOPICS, slug
from linkscore_lab.datasets.site import Reply

SITE_NAME = "Tinkerers' Hall"
_MENU = (
    ("/members", "Members"),
    ("/tags", "Tags"),
    ("/calendar/2026-06", "Calendar"),
    ("/search", "Search"),
    ("/help", "Help"),
)


def link(path: str, text: str, css: str = "", rel: str = "") -> str:
    """Return an anchor; `path` is escaped, an empty attribute left out."""
    extra = "".join(f' {name}="{value}"' for name, value in (("class", css), ("rel", rel)) if value)
    return f'<a href="{escape(path)}"{extra}>{escape(text)}</a>'


def with_query(path: str, query: Mapping[str, object]) -> str:
    """Return `path` with the query parameters that are set."""
    values = {name: value for name, value in query.items() if value}
    return f"{path}?{urlencode(values)}" if values else path


def document(title: str, content: str, css: str, canonical: str = "", side: str = "") -> Reply:
    """Return a whole page."""
    head = f'<link rel="canonical" href="{escape(canonical)}">' if canonical else ""
    aside = f'<aside class="side">{side}</aside>' if side else ""
    html = (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)} - {SITE_NAME}</title>{head}</head>"
        f'<body class="{css}">{_header()}<main>{content}</main>{aside}{_footer()}</body></html>'
    )
    return Reply(200, {"Content-Type": "text/html; charset=utf-8"}, html.encode())


def page_links(path: str, page: int, pages: int, query: Mapping[str, object] | None = None) -> str:
    """Return the pagination bar of a list that spans several pages, else nothing."""
    if pages < 2:
        return ""
    shown = sorted({1, 2, page - 1, page, page + 1, pages} & set(range(1, pages + 1)))
    items = (
        f'<li class="current"><span>{n}</span></li>'
        if n == page
        else f"<li>{link(with_query(path, {**(query or {}), 'page': n if n > 1 else 0}), str(n))}</li>"
        for n in shown
    )
    return f'<nav class="pagination"><ul>{"".join(items)}</ul></nav>'


def list_of(items: Iterable[str], css: str) -> str:
    """Return an unordered list."""
    return f'<ul class="{css}">' + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def paragraphs(texts: Iterable[str]) -> str:
    """Return each text as a paragraph."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


@cache
def _header() -> str:
    menu = "".join(f"<li>{link(path, text)}</li>" for path, text in _MENU)
    account = link("/login", "Log in", "button") + link("/register", "Register", "button primary")
    return (
        f'<header><div class="brand">{link("/", SITE_NAME)}</div><ul class="menu">{menu}</ul>'
        f'<div class="account">{account}</div></header>'
    )


@cache
def _footer() -> str:
    boards = "".join(f"<li>{link(f'/board/{slug(topic.name)}', topic.name)}</li>" for topic in TOPICS)
    legal = link("/help/rules", "Rules") + link("/help/privacy", "Privacy") + link("/help/contact", "Contact")
    return f'<footer><ul class="boards">{boards}</ul><div class="legal">{legal}</div></footer>'
