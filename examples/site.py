"""A small forum on loopback to try the examples on: ``python site.py``, then crawl what it prints.

Boards list threads, page by page. As on real forums most links lead elsewhere: members, tags, sort orders,
log-in pages and a calendar without end. Pages are made from their address and are the same each time.
"""

from __future__ import annotations

import argparse
import random
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BOARDS, PAGES, THREADS = 6, 5, 12  # boards, pages of a board, threads of a page
WORDS = [a + b for a in ("ar", "bel", "cor", "dan", "el", "far") for b in ("mon", "ter", "vin", "lo", "sa")]


def page(path: str) -> str | None:
    """Return the HTML of a path, or None where there is no page."""
    path, _, query = path.partition("?")
    if path == "/":
        return html("Forum", links("forum", [f"/board/{n}" for n in range(BOARDS)]))
    if found := re.fullmatch(r"/board/(\d+)(?:/page/(\d+))?", path):
        board, number = int(found[1]), int(found[2] or 1)
        if board >= BOARDS or not 1 <= number <= PAGES:
            return None
        first = (board * PAGES + number - 1) * THREADS
        threads = [f"/thread/{n}" for n in range(first, first + THREADS)]
        orders = [f"{path}?sort={order}" for order in ("date", "author", "replies", "views")]
        further = [f"/board/{board}/page/{number + 1}"] if number < PAGES else []
        return html(
            f"Board {board}", links("sort", orders) + links("threads", threads) + links("next", further)
        )
    if (found := re.fullmatch(r"/thread/(\d+)", path)) and int(found[1]) < BOARDS * PAGES * THREADS:
        draw = random.Random(path)
        posts = "".join(post(draw) for _ in range(draw.randint(2, 4)))
        tags = links("tags", [f"/tag/{word}" for word in draw.sample(WORDS, 3)])
        return html(f"Thread {found[1]}", posts + tags)
    if re.fullmatch(r"/member/\d+", path):
        return html("Member", links("message", [f"{path}/message"]) + "<p>Joined last year.</p>")
    if re.fullmatch(r"/member/\d+/message|/login", path):
        return html("Log in", f"<form action='/login'><input name='user'>{query}</form>")
    if found := re.fullmatch(r"/tag/(\w+)", path):
        return html(found[1], links("tags", [f"/tag/{word}" for word in WORDS]))
    if found := re.fullmatch(r"/calendar/(\d+)", path):
        return html("Calendar", links("days", [f"/calendar/{int(found[1]) + n}" for n in range(1, 8)]))
    return None


def post(draw: random.Random) -> str:
    """Return what a member wrote."""
    member = draw.randrange(200)
    text = " ".join(draw.choices(WORDS, k=60))
    return f'<div class="post"><a class="member" href="/member/{member}">{member}</a><p>{text}</p></div>'


def links(name: str, paths: list[str]) -> str:
    """Return a list of links."""
    return f'<ul class="{name}">' + "".join(f'<li><a href="{p}">{p}</a></li>' for p in paths) + "</ul>"


def html(title: str, body: str) -> str:
    """Return a page with the menu that all pages have."""
    menu = links("menu", ["/", "/login", "/calendar/1", f"/tag/{WORDS[0]}"])
    head = f"<!doctype html><html><head><title>{title}</title></head>"
    return f"{head}<body>{menu}<h1>{title}</h1>{body}</body></html>"


class Forum(BaseHTTPRequestHandler):
    """Answers with pages."""

    def do_GET(self) -> None:
        """Send a page, or 404."""
        found = page(self.path)
        body = (found or html("Not found", "")).encode()
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing of each page."""


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="A small forum to crawl.")
    parser.add_argument("--port", type=int, default=8800, help="0 takes any that is free")
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Forum)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


if __name__ == "__main__":
    main()
