"""Page types from margins, and the weights that come with the package."""

from __future__ import annotations

from linkscore_scoring.features.html import extract
from linkscore_scoring.policies.focus.policy import load_page_types
from linkscore_scoring.types import INDEX_PAGE, OTHER_PAGE, THREAD_PAGE


def test_plain_pages_are_told() -> None:
    rows = "".join(
        f"<li><h3><a href=/t/{n}>A title of some words {n}</a></h3><p>Ann 2024-01-{30 - n} 3 replies</p></li>"
        for n in range(15)
    )
    posts = "".join(
        f"<div class=post id=p{n}><p><a href=/user/{n}>Ann</a> <a href=#p{n}>2024-01-{n + 10}</a></p>"
        f"<div>{'Words of a post, as they come. ' * 9}</div><a href=/r/{n}>Reply</a></div>"
        for n in range(8)
    )
    pages = {
        INDEX_PAGE: f"<h1>Board</h1><ul>{rows}</ul>",
        THREAD_PAGE: f"<h1>A title of some words</h1>{posts}<form><textarea></textarea></form>",
        OTHER_PAGE: "<h1>Log in</h1><form><input name=a><input name=b></form>",
    }
    model = load_page_types()
    for kind, body in pages.items():
        layout = extract(f"<body>{body}</body>".encode(), url="http://a.test/x", layout=True).layout
        assert layout is not None
        assert model.classify(layout)[0] == kind
