"""Markup that escapes whatever is not markup already."""

from __future__ import annotations

from html import escape


class Html(str):
    """Text that is markup; any other text is escaped when it becomes part of one."""

    __slots__ = ()


def tag(name: str, *children: str | None, **attributes: str | float | bool | None) -> Html:
    """Return an element; in names of attributes ``_`` stands for ``-``, at the end for nothing.

    Attributes that are None or False are left out, True gives a bare one. Children that are None are too.
    """
    inner = "".join(_safe(child) for child in children if child is not None)
    return Html(f"<{name}{''.join(map(_attribute, attributes.items()))}>{inner}</{name}>")


def joined(*parts: str | None) -> Html:
    """Return the parts one after the other."""
    return Html("".join(_safe(part) for part in parts if part is not None))


def _safe(text: str) -> str:
    return text if isinstance(text, Html) else escape(text)


def _attribute(item: tuple[str, str | float | bool | None]) -> str:
    name, value = item[0].rstrip("_").replace("_", "-"), item[1]
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
