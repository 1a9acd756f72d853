"""Crawls the console is tried on, and pages whose every name means harm."""

from __future__ import annotations

from html import escape

HARM = '"><script>alert(1)</script>\u202egnp.exe'
LONG = "x" * 10_000
HARM_HOST = "harm.test"

BOOKS, YOUNG, HARMED = "books", "young", "harm"
"""Crawls: a learned forum with feedback, one of ten pages, one of pages whose every name means harm."""


def harm_url(n: int) -> str:
    return f"http://{HARM_HOST}/t/{n}?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E\u202egnp.exe&l={LONG[:1500]}"


def harm_body(n: int) -> bytes:
    links = "".join(
        f'<li><a class="x{HARM.replace(chr(34), "&quot;")} onload=alert(1)" '
        f'href="{harm_url((n + i) % 80)}">{escape(HARM)}{LONG}</a></li>'
        for i in range(1, 9)
    )
    title = f"<title>{HARM} {LONG}</title>"
    return f"<html>{title}<body class='{HARM}'><ul>{links}</ul><p>Text {n} {'w ' * 40}".encode()
